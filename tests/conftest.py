"""What every test may use."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# How fast inputs come is how busy the machine is: no property of the code.
settings.register_profile("devplane", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("devplane")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
