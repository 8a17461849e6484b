"""Zero context: retrieving passages by search if no reference is given."""

from haluagent.judging.found import text_of, worth_reading
from haluagent.protocols import SearchProvider, SearchResult, ToolContext

QUERIES = 8  # the question and the first claims
RESULTS = 5  # results of each query
READ = 3  # passages for a claim, the most relevant first


async def retrieve(search: SearchProvider, context: ToolContext) -> tuple[tuple[str, ...], list[list[int]]]:
    """Search for the question and the claims; return the passages found, and the numbers of those to read for each
    claim.

    Only passages that share enough words with a claim or the question are kept. Raise `SearchError` if a search fails,
    which says nothing about what there is to find.
    """
    results: list[SearchResult] = []
    queries = [context.question[:200], *(claim.text[:200] for claim in context.sentences)]
    for query in [query for query in dict.fromkeys(queries) if query.strip()][:QUERIES]:
        for one in await search.search(query, RESULTS, context.language):
            if all((one.url, one.offset) != (other.url, other.offset) for other in results):
                results.append(one)
    near = [worth_reading(context, claim, results)[:READ] for claim in context.sentences]
    kept = [one for one in results if any(one in some for some in near)]
    return tuple(map(text_of, kept)), [sorted(kept.index(one) for one in some) for some in near]
