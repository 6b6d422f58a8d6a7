from namekeeper.http.console_process import ConsoleProcess
from namekeeper.http.loading import load_operator_http_server
from namekeeper.http.server import OperatorHttpServer


async def test_the_classes_come_from_a_thread() -> None:
    assert await load_operator_http_server() == (OperatorHttpServer, ConsoleProcess)
