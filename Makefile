# The verbs people type. Each does its own set-up; `python -m k8slab.dev VERB` is the same without make.
PYTHON ?= python3
ARGS ?=

.PHONY: help book check test soak jupyter notebook api deviations status lock

help:
	@$(PYTHON) -m k8slab.dev help

book check test soak jupyter notebook api deviations status lock:
	@$(PYTHON) -m k8slab.dev $@ $(ARGS)
