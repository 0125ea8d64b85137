"""draft"""

from k8slab.raft.cluster import RaftCluster
from k8slab.raft.errors import *
from k8slab.raft.messages import *
from k8slab.raft.node import Node, Ready
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage, Storage
