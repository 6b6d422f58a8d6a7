"""Which rows CI leaves out, each with its reason. `make attacks` takes all."""

__all__ = ["NOT_IN_CI"]

_TIME = "CI has four minutes for all rows"

NOT_IN_CI: dict[str, str] = {
    "5b": f"row 5 with more connections; {_TIME}",
    "5c": f"row 5 with a byte a second; {_TIME}",
    "8": "takes a minute and a half: the journal's folder has to shrink",
    "9d": "takes a minute: the journal's queue has to be written",
    "11": "the table is printed a minute after the start",
    "13": f"idle connections, which did nothing to anybody; {_TIME}",
    "14b": f"row 14 with more connections; {_TIME}",
    "14c": f"row 14b with longer routes; {_TIME}",
    "15": f"never broke a limit; {_TIME}",
    "16": f"never broke a limit; {_TIME}",
    "20": "takes half a minute: memory is back 15 s after the end of it",
    "22": "takes a minute: memory is back 35 s after the end of it",
    "23b": f"row 23 by zone; {_TIME}",
    "23c": f"row 23b with a smaller topic; {_TIME}",
    "27": f"its bodies take long to make; {_TIME}",
    "41": f"what it leaves is seen after half a minute; {_TIME}",
    "41b": f"row 41 while lookups are remembered; {_TIME}",
    "43": "takes two minutes: the page has to read all changes",
    "44": f"row 44b with requests that are complete but for a body; {_TIME}",
    "45": f"its readers stay for half a minute; {_TIME}",
    "50": f"a test of the listener finds more; {_TIME}",
    "52": f"row 45 over TLS; {_TIME}",
    "53": f"row 46 over TLS; {_TIME}",
    "56": "takes a minute: the page has to read all sessions",
    "57": "takes a minute: the page has to read the topics",
    "60": "takes about 20 seconds: its answer needs many rounds",
    "61": "row 60 on the HTTP port; its answer needs many rounds, too",
    "71": "takes a minute: memory is back 30 s after the end of it",
    "72": "what it leaves shows after 8 s; a test of the connection finds it, too",
    "75": "takes half a minute: 4,900 broker names are registered first",
    "76": "its body of 900,000 topics takes long to make",
    "77": "takes a minute: 990 broker names with 400 topics each are registered first",
    "79": "its body of 900,000 topics takes long to make, as in row 76",
    "80": "takes half a minute to read all lists; a test of the pieces finds it, too",
    "82": "takes a minute to send all bursts; tests of the sockets and of the pieces find it, too",
}
