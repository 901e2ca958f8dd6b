"""Passwords and keys that only their place in a command, a file or a program shows, each replaced by itself.

All shapes are from the documentation that the rules name.
"""

import pytest

from chatsquash.redaction.names import paths
from chatsquash.redaction.phones import phones
from chatsquash.redaction.secrets import Secrets
from tests.conftest import cases

SECRETS = Secrets()
PASSWORD, TOKEN = "pepper4892Thistle", "q7Rk2mXv9LpZt4Wn8BcY3dHs"
WORDS = "lantern falcon thistle harbor tundra kettle juniper quartz walrus velvet saffron marble"
CURVE, PRIME = "VmMlp69bRK7nxBrT9YunYBTx9y1AS6nQKs3yEamliZz", "q7Rk2mXv9LpZt4Wn8BcY3dHs" * 6
SALT = "IuuOe:*/&Wy/6[fH+-fGqg~dGIt0+y=9vZ@&:~1j}.z!2 i@UyLxe&EfE;NX7N|Q"

FOUND = (
    ("Db2", f"db2 connect to sample user db2inst1 using {PASSWORD}", PASSWORD),
    ("keytool", f"keytool -list -keystore k.jks -storepass {PASSWORD}", PASSWORD),
    ("az", f"az login --service-principal -u app -p {TOKEN} --tenant t", TOKEN),
    ("podman", f"podman login -u ci -p {TOKEN} registry.corp.io", TOKEN),
    ("Samba", f"smbclient //fs/share -U 'CORP/bob%{PASSWORD}'", PASSWORD),
    ("net use", f"net use Z: \\\\fs\\share /user:CORP\\bob {PASSWORD}", PASSWORD),
    ("net use, password first", f"net use \\\\fs\\share {PASSWORD} /user:bob", PASSWORD),
    ("net user", f"net user bob {PASSWORD} /add", PASSWORD),
    ("Rails", "$ cat config/master.key\nc6c28c1b81858eddfc66181f03ecd872\n", "c6c28c1b81858eddfc66181f03ecd872"),
    ("C#", f'new NetworkCredential("bob", "{PASSWORD}")', PASSWORD),
    ("Java", f'new UsernamePasswordCredentials("bob", "{PASSWORD}")', PASSWORD),
    ("a JWK of a curve", f'{{"kty": "EC", "x": "{CURVE[::-1]}", "d": "{CURVE}"}}', CURVE),
    ("a JWK of RSA", f'{{"kty":"RSA","n":"{PRIME[::-1]}","p":"{PRIME}"}}', PRIME),
    ("a wallet", f'MNEMONIC="{WORDS}"', WORDS),
    ("WordPress", f"define( 'NONCE_SALT', '{SALT}' );", SALT),
    ("a token in camel case", f'{{azureDevopsPat: "{TOKEN}"}}', TOKEN),
    ("a token with a type", f'let azure_devops_pat: &str = "{TOKEN}";', TOKEN),
    ("a flag of gh", f'gh secret set AZURE_DEVOPS_PAT --body "{TOKEN}"', TOKEN),
    ("brackets in a value", "SECRET_KEY=1#u2shmnp7h$^0&_)27ajld(t*a19zi$&_e#sh", "1#u2shmnp7h$^0&_)27ajld(t*a19zi$&_e#sh"),
    ("JSON within JSON", '{"x": "{\\"y\\": \\"{\\\\\\"password\\\\\\": \\\\\\"a4Zq7Vn2Lx\\\\\\"}\\"}"}', "a4Zq7Vn2Lx"),
    ("Typeform", "`tfp_4eFNbIucY_kmZivVRhLAne4t8D24lWvdy0CvrCwEU7fZ_moNdqliHCi8s97`", "tfp_4eFNbIucY_kmZivVRhLAne4t8D24lWvdy0CvrCwEU7fZ_moNdqliHCi8s97"),
)  # fmt: skip


@cases("text, value", *FOUND)
def test_a_password_is_found_and_nothing_else_replaced(text, value):
    assert [text[hit.start : hit.end] for hit in SECRETS.find(text)] == [value]


def test_a_backslash_between_single_quotes_belongs_to_the_value():
    hits = SECRETS.find("DB_PASSWORD='velvet\\01u6Qm89'\n")
    assert [hit.value for hit in hits] == ["velvet\\01u6Qm89"]


@cases(
    "text",
    ("the id of a session", "session_id=907b15b8-709a-4f07-a00d-fe85e1c35186"),
    ("words about mnemonics", "Mnemonic: every good boy does fine and the rest of the words for it too"),
    ("a prompt for a password", "net use Z: \\\\fs\\share /user:bob *"),
    ("a digest of a member", '{"d": "9f86d081884c7d659a2feaa0c55ad015"}'),
    (
        "a prefix of keys in a file in base64",
        "url(data:font/woff2;base64," + "d09GMge3xa99vhVIlVnpOrGGw5fXO7HSxPhdt+sLWN0TmO2uVSh5/L" * 2
        + "+007gFr1tYX3lsXZpRMw5vLbqLSAykNptjs5cdbeb5V+qTgJrAEc)",
    ),
)  # fmt: skip
def test_what_only_looks_like_one_stays(text):
    assert SECRETS.find(text) == []


@cases(
    "text, number",
    ("Brazil", "ring me (21) 97382-6093", "+5521973826093"),
    ("Italy", "Handy: 340/7096176", "+393407096176"),
    ("Spain", "mobile 699 40 34 48", "+34699403448"),
    ("India", "\u092b\u094b\u0928: 83648-57700", "+918364857700"),
    ("a row of a table", "| Phone | 722 163 116 |", "+34722163116"),
    ("a column", "name,phone,city\nBob,415 711 9545,X\n", "+14157119545"),
    ("a column of a quoted cell", 'id;Mobil\n1;"349 445 2551"\n', "+393494452551"),
    ("a range of no operator", "Phone: +61 441 865 553", "+61441865553"),
)
def test_a_label_or_a_column_shows_a_number(text, number):
    assert [hit.value for hit in phones(None)(text)] == [number]


@pytest.mark.parametrize(
    "text",
    [
        "error code 308-984-8697",
        "part number 774.314.7451",
        "SKU 0745-892099",
        "timings: 06 22 80 76 65",
        "case 02-0290-0646",
        "account (070) 8087",
        "Invoice no. 0046-600-2460",
        "0327-9785-5062-4782 is on the card",
        "+2906 -7331 lines",
        "name,order,phone\nBob,415 711 9545,none\n",
    ],
)
def test_a_number_of_something_else_stays(text):
    assert phones(None)(text) == []


@cases(
    "text, user",
    ("a disk", "/run/media/asilva/DISK/y", "asilva"),
    ("a disk by its label", "cp /media/asilva/USB_DISK/y .", "asilva"),
    ("a disk by its id", "/media/asilva/1A2B-3C4D", "asilva"),
    ("a project's folder in a sentence", "see -Users-asilva-code", "asilva"),
)
def test_a_user_is_found_in_the_path_of_a_disk(text, user):
    assert [hit.value for hit in paths(text)] == [user]


@pytest.mark.parametrize("text", ["/media/uploads/2024/x.png", "/media/movies/Heat/x.mkv", "cmd -home-asilva-x"])
def test_other_folders_name_nobody(text):
    assert paths(text) == []
