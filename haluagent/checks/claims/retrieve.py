"""Zero context: the passages that searches find, where no reference is given."""

from haluagent.judging.found import text_of, worth_reading
from haluagent.protocols import SearchProvider, SearchResult, ToolContext

QUERIES = 8  # the question and the first claims
RESULTS = 5  # of each
READ = 3  # passages for a claim, those first that are most about it


async def retrieve(search: SearchProvider, context: ToolContext) -> tuple[tuple[str, ...], list[list[int]]]:
    """The passages that searches for the question and for the claims find, and by number those to read for each claim.

    Only what shares words enough with a claim or the question to say anything of it is kept. Raises SearchError where a
    search failed: that says nothing about what there is to find.
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
