register("mvcc", { label: "Revisions", mount: () => ({ update() {} }) });
