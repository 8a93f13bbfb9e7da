"""A suite that the sources bring along: which tests, in which shard, run file by file, and what came of it."""
