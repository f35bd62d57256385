from __future__ import annotations

import pytest

from tests.support.stored_pools import store_pools


@pytest.fixture(scope="session")
def pool_folder(tmp_path_factory):
    """Pools of three logs of five frames, six plans each, with their store."""
    return store_pools(tmp_path_factory.mktemp("pools"), logits=True)
