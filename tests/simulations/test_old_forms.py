"""Old forms can still be put back where the methods are today."""

from __future__ import annotations

import pytest
from simulations.battery.old_forms import OLD_FORMS
from simulations.battery.short import SHORT


@pytest.mark.parametrize("form", OLD_FORMS, ids=lambda form: form.what)
def test_what_an_old_form_replaces_is_there(form) -> None:
    assert [name for owner, name, _ in form.patches if not hasattr(owner, name)] == []
    assert set(form.families) <= {design.family for design in SHORT}
