"""The broker's side: keeps a broker registered with its name servers while it runs.

Programs can import all public names from here: `from namekeeper.broker import BrokerRegistrar`.
A name is loaded when it is first used. Inside namekeeper, modules are imported by their own names.
"""

from typing import TYPE_CHECKING

from namekeeper.common.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from namekeeper.broker.blocking import BlockingBrokerRegistrar
    from namekeeper.broker.broker_client import make_broker_client
    from namekeeper.broker.namesrv_session import RegisterBrokerResult
    from namekeeper.broker.registrar import BrokerRegistrar
    from namekeeper.broker.settings import BrokerSettings
    from namekeeper.broker.topic_config_manager import TopicConfigManager

__all__ = [
    "BlockingBrokerRegistrar",
    "BrokerRegistrar",
    "BrokerSettings",
    "RegisterBrokerResult",
    "TopicConfigManager",
    "make_broker_client",
]

_MODULES = {
    "BlockingBrokerRegistrar": "blocking",
    "BrokerRegistrar": "registrar",
    "BrokerSettings": "settings",
    "RegisterBrokerResult": "namesrv_session",
    "TopicConfigManager": "topic_config_manager",
    "make_broker_client": "broker_client",
}

__getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
