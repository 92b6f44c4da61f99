# Two images on one base: the control plane (the default) and the gateway agent:
#   docker build -t signalbox .
#   docker build -t signalbox-gateway --target gateway .
# Exact versions come from constraints.txt. tests/architecture/test_dockerfile.py runs every step.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv /opt/signalbox
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY controlplane ./controlplane
COPY data ./data
COPY gateway ./gateway
COPY models ./models
COPY training ./training
RUN /opt/signalbox/bin/pip install -c constraints.txt .

FROM build AS build-gateway
RUN /opt/signalbox/bin/pip install -c constraints.txt ".[gateway]"

# Nothing here builds or is privileged. The numbers are a user without a name, a home or a shell.
FROM ${PYTHON_IMAGE} AS base
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/signalbox
ENV PATH=/opt/signalbox/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
VOLUME ["/var/lib/signalbox"]
USER 10001:10001
STOPSIGNAL SIGTERM

FROM base AS gateway
COPY --from=build-gateway /opt/signalbox /opt/signalbox
ENTRYPOINT ["python", "-m", "gateway"]
CMD ["--help"]

# Listens on every address of the container; what is published of it is the deployment's choice.
FROM base AS controlplane
COPY --from=build /opt/signalbox /opt/signalbox
ENV SIGNALBOX_DATA_DIR=/var/lib/signalbox SIGNALBOX_LOG_FORMAT=json
ENV SIGNALBOX_HTTP_HOST=0.0.0.0 SIGNALBOX_HTTP_PORT=8080
ENV SIGNALBOX_ADS_HOST=0.0.0.0 SIGNALBOX_ADS_PORT=18000
# There are no training libraries here, so nobody should wait for a training that can only fail.
ENV SIGNALBOX_RETRAINING_MODE=manual
EXPOSE 8080 18000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['SIGNALBOX_HTTP_PORT'] + '/healthz', timeout=2)"]
ENTRYPOINT ["signalbox"]
CMD ["serve"]
