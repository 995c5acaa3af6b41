"""From a build side to the domains of its keys: partial domains of each task, merged on the driver."""

from headgate.collect.builds import BuildKey, BuildRequest, BuildResult, RunningWave, tapped_domain

__all__ = ["BuildKey", "BuildRequest", "BuildResult", "RunningWave", "tapped_domain"]
