"""The garbage collector rests while a program is built, and only then."""

import gc

import pytest

from pto_buf import collector


@pytest.mark.parametrize("on", [True, False])
def test_it_is_as_before_behind_what_was_done_without_it(on: bool):
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with pytest.raises(KeyError), collector.paused():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is on
        assert collector.paused()(gc.isenabled)() is False
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()
