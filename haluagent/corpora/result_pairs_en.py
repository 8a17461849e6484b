"""English tool results with pairs of claims about them: one that the result supports, and the same made wrong."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

ResultClaims = tuple[str, str]  # right, wrong


class Looked(NamedTuple):
    """A tool call, its result, and pairs of claims about the result."""

    tool: str
    arguments: dict[str, Any]
    result: Any
    claims: list[ResultClaims]


def membership(chance: random.Random) -> Looked:
    paid, visits, other = chance.randint(24, 68), chance.randint(5, 60), chance.randint(61, 99)
    plan, wrong = chance.sample(["off-peak", "full", "student", "family"], 2)
    record = {"member": f"M-{chance.randint(1000, 9999)}", "plan": plan, "active": True, "visits_this_year": visits,
              "monthly_fee": {"amount": paid, "currency": "EUR"}, "locker": None}  # fmt: skip
    return Looked("get_membership", {"name": "Edda Voss"}, record, [
        (f"Edda Voss has the {plan} plan", f"Edda Voss has the {wrong} plan"),
        ("the membership is active", "the membership is no longer active"),
        (f"she pays {paid} euros a month", f"she pays {other} euros a month"),
        (f"she has come {visits} times this year", f"she has come {visits + 3} times this year"),
        ("no locker is assigned to her", "she has a locker of her own"),
    ])  # fmt: skip


def garage(chance: random.Random) -> Looked:
    free, more = chance.randint(3, 40), chance.randint(120, 300)
    levels = [{"level": "A", "free": 0, "charging": False}, {"level": "B", "free": free, "charging": True},
              {"level": "C", "free": more, "charging": False}]  # fmt: skip
    return Looked("parking_levels", {"garage": "Quayside"}, {"garage": "Quayside", "closes": "23:30", "levels": levels}, [
        ("level A is full", "level A still has spaces"),
        (f"level B has {free} spaces left", f"level B has {more} spaces left"),
        ("cars can be charged on level B only", "cars can be charged on level C only"),
        ("most spaces are free on level C", "most spaces are free on level B"),
        ("the garage closes at half past eleven at night", "the garage closes at half past ten at night"),
    ])  # fmt: skip


def museum(chance: random.Random) -> Looked:
    price, reduced = chance.randint(11, 19), chance.randint(4, 8)
    record = {"opening_hours": {"tue-fri": "10:00-18:00", "sat": "09:00-20:00", "sun": "09:00-17:00",
                                "mon": "closed"},
              "admission": {"adult": price, "reduced": reduced, "under_12": 0},
              "wheelchair_access": True, "dogs": "not allowed"}  # fmt: skip
    return Looked("museum_info", {"museum": "Tidewater Museum"}, record, [
        ("it is closed on Mondays", "it is open on Mondays"),
        ("on Saturdays it stays open until 8 pm", "on Saturdays it stays open until 6 pm"),
        (f"an adult pays {price}", f"an adult pays {reduced}"),
        ("children under twelve get in for free", "children under twelve pay the reduced price"),
        ("you can visit in a wheelchair", "it cannot be visited in a wheelchair"),
        ("dogs have to stay outside", "dogs are welcome"),
    ])  # fmt: skip


def chess(chance: random.Random) -> Looked:
    first, second = chance.sample(["Ilse Roth", "Teo Marani", "Gwen Adair", "Jun Oda"], 2)
    rows = [{"rank": 1, "player": first, "points": 6.5, "rounds": 8}, {"rank": 2, "player": second, "points": 6.0, "rounds": 8},
            {"rank": 3, "player": "Bo Lindt", "points": 4.5, "rounds": 8}]  # fmt: skip
    return Looked("standings", {"event": "Harbour Open"}, rows, [
        (f"{first} leads the Harbour Open", f"{second} leads the Harbour Open"),
        (f"{first} is half a point ahead of {second}", f"{first} is two points ahead of {second}"),
        ("Bo Lindt is third with 4.5 points", "Bo Lindt is third with 5.4 points"),
        ("eight rounds have been played", "nine rounds have been played"),
    ])  # fmt: skip


def router(chance: random.Random) -> Looked:
    days, clients = chance.randint(12, 90), chance.randint(3, 19)
    record = {"uptime_days": days, "firmware": "4.2.1", "update_available": False, "wan": "up", "clients": clients,
              "guest_wifi": "disabled"}  # fmt: skip
    return Looked("router_status", {}, record, [
        (f"the router has been up for {days} days", f"the router has been up for {days + 30} days"),
        ("its firmware is current", "a newer firmware is waiting to be installed"),
        (f"{clients} devices are connected", f"{clients + 11} devices are connected"),
        ("the guest network is switched off", "the guest network is switched on"),
        ("the internet connection works", "the internet connection is down"),
    ])  # fmt: skip


def insurance(chance: random.Random) -> Looked:
    claimed, share = chance.randint(8, 30) * 100, chance.randint(1, 3) * 100
    record = {"claim": f"CL-{chance.randint(20000, 99999)}", "state": "under_review", "amount_claimed": claimed, "deductible": share,
              "missing_documents": ["repair invoice"], "decision_by": "2027-02-18"}  # fmt: skip
    return Looked("get_claim", {"policy": "HP-551"}, record, [
        ("the claim is still being reviewed", "the claim has been approved"),
        (f"you claimed {claimed:,}", f"you claimed {claimed * 10:,}"),
        (f"you bear the first {share} yourself", f"you bear the first {share + 150} yourself"),
        ("the repair invoice has not been handed in", "all documents have been handed in"),
        ("a decision will come by 18 February 2027", "a decision will come by 28 February 2027"),
    ])  # fmt: skip


def application(chance: random.Random) -> Looked:
    years = chance.randint(3, 9)
    found = {"candidate": "Noor Haddad", "role": "data engineer", "stage": "second interview", "years_of_experience": years,
             "references_checked": False, "languages": ["Arabic", "French", "English"]}  # fmt: skip
    return Looked("get_candidate", {"name": "Noor Haddad"}, {"results": [found], "count": 1}, [
        ("Noor Haddad is applying as a data engineer", "Noor Haddad is applying as a data analyst"),
        ("her second interview is the current step", "she has received an offer"),
        (f"she brings {years} years of experience", f"she brings {years + 6} years of experience"),
        ("nobody has checked her references yet", "her references have been checked"),
        ("she speaks three languages", "she speaks four languages"),
        ("one candidate was found", "two candidates were found"),
    ])  # fmt: skip


def build(chance: random.Random) -> Looked:
    passed = chance.randint(300, 900)
    record = {"pipeline": "nightly", "conclusion": "failure", "tests": {"passed": passed, "failed": 2, "skipped": 14},
              "failed_tests": ["test_resume", "test_unicode_names"], "triggered_by": "schedule"}  # fmt: skip
    return Looked("get_pipeline", {"name": "nightly"}, record, [
        ("the nightly pipeline failed", "the nightly pipeline succeeded"),
        (f"{passed} tests passed and 2 failed", f"{passed} tests passed and 12 failed"),
        ("test_resume is among the failing tests", "test_resume passed"),
        ("it was started by the schedule", "it was started by a person"),
    ])  # fmt: skip


def nutrition(chance: random.Random) -> Looked:
    energy, protein = chance.randint(180, 420), chance.randint(12, 30)
    record = {"food": "lentil stew", "per_100_g": {"energy_kcal": energy, "protein_g": protein, "salt_g": 0.8}, "vegan": True,
              "allergens": ["celery"]}  # fmt: skip
    return Looked("food_facts", {"query": "lentil stew"}, record, [
        (f"100 g of lentil stew have {energy} kcal", f"100 g of lentil stew have {energy - 90} kcal"),
        (f"it contains {protein} g of protein per 100 g", f"it contains {protein + 9} g of protein per 100 g"),
        ("vegans can eat it", "it contains meat"),
        ("people who are allergic to celery should avoid it", "it has no allergens"),
    ])  # fmt: skip


def note(chance: random.Random) -> Looked:
    height, since = chance.randint(15, 60), chance.randint(1905, 1968)
    text = (f"Gull Point lighthouse. The tower is {height} metres high and was built of granite in {since}. It has been automatic since "
            "1984; the keeper's house is now a hostel. The light can be seen for 17 nautical miles.")  # fmt: skip
    return Looked("read_page", {"url": "https://gullpoint.example/light"}, text, [
        (f"the tower of Gull Point was built in {since}", f"the tower of Gull Point was built in {since + 21}"),
        (f"it is {height} metres high", f"it is {height * 2} metres high"),
        ("there is no keeper any more", "a keeper still lives there"),
        ("guests can sleep in the keeper's house", "the keeper's house was torn down"),
        ("the light reaches 17 nautical miles", "the light reaches 27 nautical miles"),
    ])  # fmt: skip


def meeting(chance: random.Random) -> Looked:
    votes = chance.randint(6, 11)
    text = (f"Minutes: present were 14 members. The new fence was agreed on with {votes} votes to 3. Ms Ortega takes over the accounts "
            "from Mr Blum. The summer fair is moved from June to September because of the building site.")  # fmt: skip
    return Looked("open_document", {"document": "minutes"}, text, [
        ("the members agreed on the new fence", "the members rejected the new fence"),
        (f"{votes} members voted for it", "3 members voted for it"),
        ("Ms Ortega now keeps the accounts", "Mr Blum now keeps the accounts"),
        ("the summer fair will be in September", "the summer fair will be in June"),
    ])  # fmt: skip


KINDS: tuple[Callable[[random.Random], Looked], ...] = (
    membership, garage, museum, chess, router, insurance, application, build, nutrition, note, meeting,
)  # fmt: skip
