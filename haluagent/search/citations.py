"""The choice of what citations are looked up in. Without a setting nothing is: a citation is a part of the user's text."""

from haluagent.protocols import Bibliography, Visitor
from haluagent.settings import read_search_settings

INTERVAL = 0.1  # seconds between two requests to a registry


def resolve_bibliography() -> Bibliography | None:
    """Return the registry of DOIs that HALUAGENT_DOI_REGISTRY or the config file names; None without. Raise `ConfigError` if it is
    no address."""
    settings = read_search_settings()
    if not settings.doi_registry:
        return None
    # Imported here, as below: most users look up no citations.
    from haluagent.search.providers.calls import Calls
    from haluagent.search.providers.crossref import Crossref

    interval = INTERVAL if settings.interval is None else settings.interval
    calls = Calls(interval=interval)
    return Crossref(settings.doi_registry, contact=settings.contact, timeout=settings.timeout, calls=calls)


def resolve_visitor() -> Visitor | None:
    """Return what asks for the pages that a response cites, if HALUAGENT_CITED_PAGES or the config file says so; None
    otherwise."""
    if not read_search_settings().cited_pages:
        return None
    from haluagent.search.pages.visits import PageVisitor

    return PageVisitor()
