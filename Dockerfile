# The server, without a model (EXTRAS=server) or with the embedded engine (the default). docs/deploy.md says how to run it.
ARG BASE=python:3.12-slim

FROM ${BASE} AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY haluagent haluagent
COPY tools tools
COPY prompts prompts
COPY sandbox sandbox
RUN python3 -m venv /build && /build/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM ${BASE}
# Code found in a response runs in bubblewrap: the container needs no Docker of its own.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home haluagent \
    && install -d -o haluagent -g haluagent /cache

ARG EXTRAS=server,embedded
COPY --from=wheel /wheel /wheel
RUN python3 -m venv /opt/haluagent \
    && /opt/haluagent/bin/pip install --no-cache-dir "$(echo /wheel/*.whl)[documents,docker,google,${EXTRAS}]" \
    && rm -r /wheel

ENV PATH=/opt/haluagent/bin:$PATH HALUAGENT_CACHE=/cache PYTHONUNBUFFERED=1
USER haluagent
WORKDIR /home/haluagent

# Weights to have in the image (a name from `haluagent model list`); without, they are fetched into the volume at the first start.
ARG WEIGHTS=
RUN if [ -n "${WEIGHTS}" ]; then haluagent model pull "${WEIGHTS}"; fi
VOLUME /cache

EXPOSE 8642
HEALTHCHECK --interval=10s --timeout=5s --start-period=5m CMD ["python", "-c", "from http.client import HTTPConnection as C; c = C('127.0.0.1', 8642, timeout=4); c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["haluagent"]
CMD ["serve", "--host", "0.0.0.0", "--token-file", "/run/secrets/haluagent-token"]
