import pytest

from controlplane.domain.access import PERMISSIONS, AccessRole, Permission, allowed

WRITES = frozenset(
    {
        Permission.SEND_SAMPLES,
        Permission.OPERATE,
        Permission.MANAGE_MODELS,
        Permission.ADMINISTER,
    }
)


def test_every_role_has_its_row() -> None:
    assert set(PERMISSIONS) == set(AccessRole)


def test_a_viewer_changes_nothing() -> None:
    assert not PERMISSIONS[AccessRole.VIEWER] & WRITES


def test_an_admin_may_all() -> None:
    assert all(allowed(AccessRole.ADMIN, permission) for permission in Permission)


@pytest.mark.parametrize("role", [role for role in AccessRole if role is not AccessRole.ADMIN])
def test_only_an_admin_administers(role: AccessRole) -> None:
    assert not allowed(role, Permission.ADMINISTER)


def test_only_gateways_and_admins_subscribe() -> None:
    subscribers = {role for role in AccessRole if allowed(role, Permission.SUBSCRIBE)}
    assert subscribers == {AccessRole.GATEWAY, AccessRole.ADMIN}


def test_a_gateway_reads_configuration_only() -> None:
    assert not allowed(AccessRole.GATEWAY, Permission.READ)
    assert not allowed(AccessRole.GATEWAY, Permission.OPERATE)
