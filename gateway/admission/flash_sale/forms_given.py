"""How many order forms a node has given out in a sale, kept on disk: a restart is no new quota.

Written by `desk`, a byte for each form, so that nothing of users is kept: they show their forms by
ticket. What the machine itself loses in a crash is given out again; the stock is the shop's.
"""

import os
from pathlib import Path

import structlog

from controlplane.domain import canonical
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy

log = structlog.get_logger()


class FormsGiven:
    """The count of one sale on one node.

    Args:
        folder: of this node alone; None keeps nothing.
    """

    def __init__(self, name: str, policy: FlashSalePolicy, folder: Path | None) -> None:
        # Another sale of the same name begins anew.
        sale = f"{name} {policy.item} {policy.opens_at_s!r}"
        digest = canonical.digest(sale.encode())[:16]
        self._name = name
        self._file = None if folder is None else folder / f"forms-{digest}.count"

    def before(self) -> int:
        """Forms that were given out by an earlier run; 0 when nobody knows."""
        try:
            return 0 if self._file is None else self._file.stat().st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            self._not_kept(error)
            return 0

    def one_more(self) -> None:
        """One more was given out."""
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            opened = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(opened, b".")
            finally:
                os.close(opened)
        except OSError as error:
            # A full disk must not keep a buyer from his form.
            self._not_kept(error)

    def _not_kept(self, error: OSError) -> None:
        log.warning("flash_sale.forms_not_kept", sale=self._name, why=str(error))
