from tests.support.navsim_fixtures import city, compact, golden, logs, split  # noqa: F401
