import socket
from pathlib import Path

import pytest

from controlplane.demo.background import Background
from controlplane.demo.layout import Datacenter, Lane, Layout, read_layout


def layout() -> Layout:
    return Layout(
        base_port=21500,
        epoch_s=5.0,
        lanes=(Lane(name="tickets", endpoints=(8, 5)), Lane(name="equal")),
        datacenters=(
            Datacenter(name="primary", workers=8, background=Background(seed=1)),
            Datacenter(name="secondary", workers=5, background=Background(seed=2, phase=0.5)),
        ),
    )


def test_no_port_is_used_twice() -> None:
    ports = layout().all_ports()
    assert len(ports) == len(set(ports)) == 4 + 2 + 13 + 8
    assert len(layout().endpoint_ports("primary", "tickets")) == 8
    assert len(layout().endpoint_ports("secondary", "equal")) == 3


def test_children_read_what_the_demo_wrote(tmp_path: Path) -> None:
    layout().write(tmp_path / "layout.json")
    assert read_layout(tmp_path / "layout.json") == layout()


def test_a_busy_port_moves_the_whole_rig() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", layout().envoy_port))
        taken.listen()
        assert layout().on_free_ports().base_port > layout().base_port


def test_an_unknown_data_centre_is_named() -> None:
    with pytest.raises(KeyError, match="tertiary"):
        layout().admin_port("tertiary")
