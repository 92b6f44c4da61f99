"""The edge of HTTP: what every exchange goes through, whatever it is about.

- `connection`: what may be taken before anybody knows who calls. `limits`: bodies and headers.
  `throttle`: callers with bad tokens.
- `problems`: errors as RFC 9457 documents.
- `conditional`: entity tags and long polls. `idempotency`: a write that is sent twice.
- `sse`: event streams. `paging`: lists. `large_documents`: beside the event loop.
"""
