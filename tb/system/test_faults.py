# SPDX-License-Identifier: Apache-2.0
"""Some faults of each class on each back end (ci/faults injects thousands), and that the campaign would notice a
driver that does less."""

import pytest

from gradcore.host import control
from gradcore.host.device import Device
from gradcore.host.integrity import Piece
from tb.support.faults import CLASSES, Campaign, Wrong
from tb.support.sim import ENGINES

COUNT = 24


@pytest.fixture(scope="module", params=ENGINES)
def campaign(request):
    campaign = Campaign(request.param, 11)
    yield campaign
    campaign.close()


@pytest.mark.parametrize("kind", CLASSES)
def test_each_fault_is_told_and_changes_no_bit(campaign, kind):
    struck = [campaign.run(kind, number) for number in range(COUNT)]
    assert sum(struck) >= COUNT // 2


def never_stopped(patch):
    patch.setattr(control, "_halt", lambda backend, patience: "")
    patch.setattr(control, "stop", lambda backend, patience=0: 0)
    patch.setattr(control, "require_quiet", lambda backend: None)  # it waits a while: most programs end by themselves


LESS = {
    "weights are not put back": ("slverr", lambda patch: patch.setattr(Device, "restore", lambda self, saved: None)),
    "a time-out leaves the engine running": ("timeout", never_stopped),
    "programs are not compared": ("program", lambda patch: patch.setattr(Piece, "intact", lambda self, backend: True)),
    "windows are not opened again": ("reset", lambda patch: patch.setattr(Device, "_open_windows", lambda self: None)),
}


@pytest.mark.parametrize("what", LESS)
def test_the_campaign_notices(what, monkeypatch):
    kind, less = LESS[what]
    campaign = Campaign("sim", 12)
    less(monkeypatch)
    with pytest.raises(Wrong):
        for number in range(COUNT):
            campaign.run(kind, number)
    monkeypatch.undo()
    campaign.close()
