from tests.support.navhard_fixtures import navhard, navhard_store  # noqa: F401
from tests.support.navsim_fixtures import compact  # noqa: F401
