"""KubeSchedulerConfiguration: strict reading, defaults, validation. Cases are those of upstream's tables
(pkg/scheduler/apis/config: scheme_test.go, defaults_test.go, validation_test.go, validation_pluginargs_test.go), and
the texts those of the functions they test."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.cluster import Cluster
from k8slab.scheduler import (
    REGISTRY,
    ConfigError,
    Extender,
    Framework,
    KubeSchedulerConfiguration,
    Profile,
    Snapshot,
)
from k8slab.scheduler.config_args import ARGS, checked_args
from tests.scheduling import node, pod

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def read(body: str = "", **more: Any) -> KubeSchedulerConfiguration:
    return KubeSchedulerConfiguration.from_yaml(HEAD + body, **more)


def message(body: str) -> str:
    with pytest.raises(ConfigError) as error:
        read(body)
    return error.value.message


def args_of(config: KubeSchedulerConfiguration, plugin: str, profile: int = 0) -> Any:
    return dict(config.profiles[profile].config_entries)[plugin]


# -- defaults ------------------------------------------------------------------------------------------


def test_an_empty_configuration_has_upstreams_defaults() -> None:
    config = read()
    assert config == KubeSchedulerConfiguration()
    assert (config.parallelism, config.percentage_of_nodes_to_score, config.delay_cache_until_active) == (16, 0, False)
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
    assert (config.enable_profiling, config.enable_contention_profiling) == (True, True)
    election = config.leader_election
    assert election.leader_elect
    assert [election.lease_duration_ns, election.renew_deadline_ns, election.retry_period_ns] == [
        seconds * 10**9 for seconds in (15, 10, 2)
    ]
    names = (election.resource_lock, election.resource_namespace, election.resource_name)
    assert names == ("leases", "kube-system", "kube-scheduler")
    connection = config.client_connection
    assert (connection.qps, connection.burst) == (50, 100)
    assert connection.content_type == "application/vnd.kubernetes.protobuf"
    assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]


def test_contention_profiling_follows_profiling() -> None:
    config = read("enableProfiling: false")
    assert (config.enable_profiling, config.enable_contention_profiling) == (False, False)
    assert read("enableContentionProfiling: false").enable_profiling


@pytest.mark.parametrize(
    ("plugin", "given", "filled"),
    [
        ("DefaultPreemption", {}, {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100}),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0},
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 100},
        ),
        ("InterPodAffinity", {}, {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False}),
        (
            "NodeResourcesFit",
            {},
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                }
            },
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "memory"}, {"name": "a/b", "weight": 2}],
                }
            },
            {
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "memory", "weight": 1}, {"name": "a/b", "weight": 2}],
                }
            },
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "scalar", "weight": 0}]},
            {"resources": [{"name": "cpu", "weight": 1}, {"name": "scalar", "weight": 1}]},
        ),
        ("PodTopologySpread", {}, {"defaultingType": "System"}),
        ("VolumeBinding", {}, {"bindTimeoutSeconds": 600}),
        ("DynamicResources", {}, {"filterTimeout": "10s", "bindingTimeout": "10m0s"}),
        ("NodeAffinity", {}, {}),
    ],
)
def test_arguments_get_upstreams_defaults(plugin: str, given: dict[str, Any], filled: dict[str, Any]) -> None:
    assert checked_args(plugin, given, FeatureGates("1.36")) == filled


@pytest.mark.parametrize("plugin", REGISTRY)
def test_a_plugin_made_by_hand_fills_in_its_arguments_itself(plugin: str) -> None:
    assert REGISTRY[plugin]({}, Framework.from_profile()).name == plugin


def test_arguments_that_need_a_gate_have_no_default_without_it() -> None:
    assert checked_args("DynamicResources", {}, FeatureGates("1.33")) == {}
    with_shape = checked_args("VolumeBinding", {}, FeatureGates(overrides={"StorageCapacityScoring": True}))
    assert with_shape["shape"] == [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]


def test_a_framework_of_a_configuration_leaves_to_extenders_what_they_take() -> None:
    def verdict(**managed: Any) -> str:
        extender = {"urlPrefix": "http://gpu.local", "managedResources": [{"name": "example.com/gpu", **managed}]}
        config = KubeSchedulerConfiguration.from_dict({"extenders": [{**extender, "filterVerb": "filter"}]})
        incoming = pod()
        incoming["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
        return Framework.from_config(config).schedule(incoming, Snapshot.of([node("a")])).message

    assert "1 Insufficient example.com/gpu." in verdict()
    assert verdict(ignoredByScheduler=True) == ""


def test_there_is_always_a_profile() -> None:
    assert len(KubeSchedulerConfiguration.from_dict({"profiles": []}).profiles) == 1
    with pytest.raises(ValueError, match=r"^profiles: Required value$"):
        KubeSchedulerConfiguration(profiles=())


def test_only_a_single_profile_gets_the_default_name() -> None:
    assert message("profiles: [{}, {schedulerName: b}]") == "profiles[0].schedulerName: Required value"


# -- reading strictly ----------------------------------------------------------------------------------


def test_a_field_that_does_not_exist_is_named_with_its_place() -> None:
    with pytest.raises(ConfigError) as error:
        KubeSchedulerConfiguration.from_yaml(HEAD + "profiles:\n- schedulerNmae: x\n", source="scheduler.yaml")
    assert error.value.message == 'strict decoding error: unknown field "profiles[0].schedulerNmae"'
    assert (error.value.line, error.value.column) == (4, 3)
    assert str(error.value).startswith("scheduler.yaml, line 4, column 3: strict decoding error: ")


def test_a_field_written_twice_is_refused() -> None:
    text = 'strict decoding error: yaml: unmarshal errors:\n  line 4: key "parallelism" already set in map'
    assert message("parallelism: 1\nparallelism: 2") == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            "parallelism: many",
            "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            id="a number that is a text",
        ),
        pytest.param('leaderElection: {leaseDuration: ""}', 'time: invalid duration ""', id="an empty duration"),
        pytest.param(
            'extenders: [{urlPrefix: x, httpTimeout: ""}]', 'time: invalid duration ""', id="an empty timeout"
        ),
        pytest.param("leaderElection: {leaseDuration: soon}", 'time: invalid duration "soon"', id="no duration"),
        pytest.param("extenders: [{urlPrefix: x, httpTimeout: 5}]", "json: cannot unmarshal number", id="no unit"),
        pytest.param("extenders: [{urlPrefix: x, httpTimeout: 5d}]", 'time: unknown unit "d"', id="not a unit"),
        pytest.param(
            "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodes: 1}}]}]",
            "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for "
            'plugin DefaultPreemption: strict decoding error: unknown field "minCandidateNodes"',
            id="an argument that does not exist",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {requestedToCapacityRatio: "
            "{shape: [{Score: 2, Utilization: 1}]}}}}]}]",
            "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for "
            "plugin NodeResourcesFit: strict decoding error: unknown field "
            '"scoringStrategy.requestedToCapacityRatio.shape[0].Score", unknown field '
            '"scoringStrategy.requestedToCapacityRatio.shape[0].Utilization"',
            id="names of fields are case-sensitive",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {apiVersion: kubescheduler.config.k8s.io/v1, "
            "kind: InterPodAffinityArgs}}]}]",
            "decoding .profiles[0].pluginConfig[0]: args for plugin DefaultPreemption were not of type "
            "DefaultPreemptionArgs.kubescheduler.config.k8s.io, got InterPodAffinityArgs.kubescheduler.config.k8s.io",
            id="another plugin's arguments",
        ),
    ],
)
def test_what_cannot_be_decoded(body: str, text: str) -> None:
    assert message(body).startswith(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("apiVersion: kubescheduler.config.k8s.io/v1", "Object 'Kind' is missing in "),
        ("kind: KubeSchedulerConfiguration", "Object 'apiVersion' is missing in "),
        ("", "Object 'Kind' is missing in ''"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" in '
            'scheme "pkg/scheduler/apis/config/scheme/scheme.go:30"',
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeProxyConfiguration",
            'no kind "KubeProxyConfiguration" is registered for version "kubescheduler.config.k8s.io/v1" in scheme',
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: InterPodAffinityArgs",
            "couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, "
            "Kind=InterPodAffinityArgs: ",
        ),
        ("[1]", "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value"),
        ("a: [", "while parsing"),
        (HEAD + "---\n" + HEAD, "2 documents, expected one KubeSchedulerConfiguration"),
    ],
)
def test_texts_that_are_no_configuration(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        KubeSchedulerConfiguration.from_yaml(text)
    assert error.value.message.startswith(expected)


def test_arguments_may_name_their_version_and_kind_and_are_filled_in() -> None:
    config = read(
        "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {apiVersion: kubescheduler.config.k8s.io/v1, "
        "kind: DefaultPreemptionArgs, minCandidateNodesPercentage: 50}}, {name: OutOfTree, args: {foo: bar}}, "
        "{name: InterPodAffinity, args: }, {name: NodeResourcesFit}]}]"
    )
    filled = {"minCandidateNodesPercentage": 50, "minCandidateNodesAbsolute": 100}
    assert args_of(config, "DefaultPreemption") == filled
    assert args_of(config, "OutOfTree") == {"foo": "bar"}
    assert args_of(config, "InterPodAffinity")["hardPodAffinityWeight"] == 1
    assert args_of(config, "NodeResourcesFit")["scoringStrategy"]["type"] == "LeastAllocated"


# -- validation ----------------------------------------------------------------------------------------

RULES: list[tuple[str, str]] = [
    ("parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"),
    ("percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
    ("percentageOfNodesToScore: -1", "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"),
    ("clientConnection: {burst: -1}", "clientConnection.burst: Invalid value: -1: must be non-negative"),
    (
        "profiles: [{percentageOfNodesToScore: 200}]",
        "profiles[0].percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100]",
    ),
    ("podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
    (
        "podMaxBackoffSeconds: 0",
        "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds",
    ),
    (
        "leaderElection: {resourceLock: configmaps}",
        'leaderElection.resourceLock: Invalid value: "configmaps": resourceLock value must be "leases"',
    ),
    (
        "leaderElection: {leaseDuration: 5s}",
        "leaderElection.leaseDuration: Invalid value: 10s: LeaseDuration must be greater than RenewDeadline",
    ),
    ("leaderElection: {retryPeriod: -1s}", "leaderElection.retryPeriod: Invalid value: -1s: must be greater than zero"),
    (
        "profiles: [{schedulerName: a}, {schedulerName: a}]",
        "profiles[1].schedulerName: Duplicate value: profiles[0].schedulerName",
    ),
    (
        "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: Mine}]}}}]",
        'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Mine","Weight":0}],"Disabled":null}: '
        "must be the same for all profiles",
    ),
    (
        "profiles: [{plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}}]",
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
    ),
    (
        "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
        'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" '
        '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
    ),
    (
        "profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]",
        'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
    ),
    (
        "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
        "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
    ),
    (
        "extenders: [{urlPrefix: a, prioritizeVerb: prioritize}]",
        "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
    ),
    (
        "extenders: [{urlPrefix: a, bindVerb: bind}, {urlPrefix: b, bindVerb: bind}]",
        'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
    ),
    (
        "extenders: [{urlPrefix: a, managedResources: [{name: example.com/x}, {name: example.com/x}]}]",
        'extenders[0].managedResources[1].name: Invalid value: "example.com/x": '
        "duplicate extender managed resource name",
    ),
    (
        "extenders: [{urlPrefix: a, managedResources: [{name: cpu}]}]",
        'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
    ),
]


@pytest.mark.parametrize(("body", "text"), RULES)
def test_a_broken_rule_is_told_in_upstreams_words(body: str, text: str) -> None:
    assert message(body) == text


def test_all_broken_rules_are_told_at_once_and_the_place_is_that_of_the_first() -> None:
    with pytest.raises(ConfigError) as error:
        read("podMaxBackoffSeconds: 1\npodInitialBackoffSeconds: 5\nparallelism: -1")
    first, second = (cause.field for cause in error.value.causes)
    assert (first, second) == ("parallelism", "podMaxBackoffSeconds")
    assert error.value.message.startswith("[parallelism: Invalid value: -1: ")
    assert error.value.line == 5


def test_without_election_its_fields_are_free() -> None:
    assert not read("leaderElection: {leaderElect: false, leaseDuration: 1s}").leader_election.leader_elect


@pytest.mark.parametrize(
    ("plugin", "args", "fields"),
    [
        ("DefaultPreemption", {"minCandidateNodesPercentage": -1}, ["minCandidateNodesPercentage"]),
        ("DefaultPreemption", {"minCandidateNodesPercentage": 900}, ["minCandidateNodesPercentage"]),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            ["minCandidateNodesPercentage", "minCandidateNodesAbsolute"],
        ),
        ("VolumeBinding", {"bindTimeoutSeconds": -10}, ["bindTimeoutSeconds"]),
        ("VolumeBinding", {"shape": [{"utilization": 1, "score": 1}]}, ["shape"]),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]},
            ["resources[0].weight", "resources[1].name"],
        ),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "not/a/key", "operator": "In", "values": ["x"]}]}
                        ]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "preference": {
                                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]
                            },
                        }
                    ],
                }
            },
            [
                "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key",
                "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchFields[0].values",
            ],
        ),
        ("NodeResourcesFit", {"ignoredResources": ["a/b/c"]}, ["ignoredResources[0]"]),
        ("NodeResourcesFit", {"ignoredResourceGroups": ["example.com/x"]}, ["ignoredResourceGroups[0]"]),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}},
            ["scoringStrategy.resources[0].weight"],
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "LeastAllocated", "requestedToCapacityRatio": {"shape": []}}},
            ["scoringStrategy.requestedToCapacityRatio"],
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": 50, "score": 11}, {"utilization": 50, "score": 1}]
                    },
                }
            },
            [
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization",
                "scoringStrategy.requestedToCapacityRatio.shape[0].score",
            ],
        ),
        ("NodeResourcesFit", {"scoringStrategy": {}}, ["scoringStrategy.type"]),
        ("DynamicResources", {"bindingTimeout": "500ms"}, ["bindingTimeout"]),
        ("DynamicResources", {"filterTimeout": "-1s"}, ["filterTimeout"]),
    ],
)
def test_arguments_out_of_range_name_the_field(plugin: str, args: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(ValueError, match=r".+") as error:
        checked_args(plugin, args, FeatureGates("1.36"))
    messages = getattr(error.value, "messages", ())
    assert [text.partition(": ")[0] for text in messages] == fields


def test_arguments_whose_gate_is_off_are_forbidden() -> None:
    with pytest.raises(
        ValueError, match="filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled"
    ):
        checked_args("DynamicResources", {"filterTimeout": "1s"}, FeatureGates("1.33"))


def test_upstream_checks_the_arguments_of_fit_only_when_the_plugin_is_made() -> None:
    """Its table of checks has them under NodeResourcesFitArgs, which is no plugin's name."""
    config = read("profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Random}}}]}]")
    with pytest.raises(
        ValueError, match=r'^initializing plugin "NodeResourcesFit": scoringStrategy\.type: Unsupported'
    ):
        Framework.from_config(config)


def test_every_plugin_with_arguments_is_decoded_by_a_struct() -> None:
    for plugin in ARGS:
        with pytest.raises(ValueError, match='unknown field "nonsense"'):
            checked_args(plugin, {"nonsense": 1}, FeatureGates())


# -- what it changes -----------------------------------------------------------------------------------


def test_a_profiles_percentage_wins_over_that_of_all() -> None:
    config = read(
        "percentageOfNodesToScore: 30\nprofiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 70}]"
    )
    assert [Framework.from_config(config, name).percentage_of_nodes_to_score for name in ("a", "b")] == [30, 70]
    with pytest.raises(ValueError, match="scheduler_name: 'c', expected one of a, b"):
        Framework.from_config(config, "c")


def test_extenders_are_read() -> None:
    config = read(
        "extenders: [{urlPrefix: http://x, filterVerb: filter, httpTimeout: 250ms, weight: 5, prioritizeVerb: rank, "
        "enableHTTPS: true, tlsConfig: {insecure: true}, nodeCacheCapable: true, ignorable: true, "
        "managedResources: [{name: example.com/x, ignoredByScheduler: true}]}]"
    )
    (extender,) = config.extenders
    assert isinstance(extender, Extender)
    assert (extender.filter_verb, extender.http_timeout_ms, extender.weight) == ("filter", 250, 5)
    assert extender.tls_config is not None
    assert extender.tls_config.insecure
    assert (extender.enable_https, extender.node_cache_capable, extender.ignorable) == (True, True, True)
    assert extender.managed_resources[0].ignored_by_scheduler


def test_a_cluster_runs_with_a_configuration_and_its_recording_keeps_it() -> None:
    text = HEAD + "profiles: [{schedulerName: other}]\npodInitialBackoffSeconds: 3"
    cluster = Cluster(nodes=1, scheduler_config=text)
    scheduler = cluster.control_plane.scheduler.program
    assert scheduler is not None
    assert list(scheduler.frameworks) == ["other"]
    assert scheduler.config.pod_initial_backoff_seconds == 3
    again = Cluster.replay(cluster.recording())
    assert list(again.control_plane.scheduler.program.frameworks) == ["other"]
    with pytest.raises(ConfigError, match="scheduler_config, line 3, column 1: strict decoding error"):
        Cluster(nodes=1, scheduler_config=HEAD + "nope: 1")
    with pytest.raises(
        TypeError, match="scheduler_config: 5: expected YAML, an object or a KubeSchedulerConfiguration"
    ):
        Cluster(nodes=1, scheduler_config=5)  # type: ignore[arg-type]


def test_a_profile_from_python_may_have_arguments_that_are_no_json() -> None:
    marker = object()
    profile = Profile.from_dict({"pluginConfig": [{"name": "Mine", "args": {"marker": marker}}]})
    assert profile.plugin_config["Mine"]["marker"] is marker
    with pytest.raises(ValueError, match=r"pluginConfig\[0\].args: 5, expected an object"):
        Profile.from_dict({"pluginConfig": [{"name": "Mine", "args": 5}]})
