"""The rules, one file each, run in the order of `headgate.plan.pipeline.RULES`."""
