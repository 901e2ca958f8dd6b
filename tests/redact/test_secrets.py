"""What is found in texts, in whatever form it stands there, and what is not, though it looks like it."""

import base64
import itertools
import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.redact.placeholders import Placeholders, blanked
from chatsquash.redact.secrets import Secrets, kind_of

SECRETS = Secrets()
TOKEN, PASSWORD = "q7Rk2mXv9LpZt4Wn8BcY3dHs", "Falcon-7193!x"
"""They stand for T and P in the rows."""
CONTEXTS = [
    "ENV API_TOKEN T",
    "ENV DB_PASSWORD P",
    "set DB_PASSWORD=P",
    '$env:API_TOKEN = "T"',
    "set -x API_TOKEN T",
    "set -gx DB_PASSWORD P",
    "setenv API_TOKEN T",
    "heroku config:set API_TOKEN=T",
    "AWS Secret Access Key [None]: T",
    "vault kv put secret/app password=P",
    "requirepass P",
    'proxy_set_header X-Api-Key "T";',
    "http GET x X-Api-Key:T",
    '{"key": "x-api-key", "value": "T"}',
    '{"name":"Authorization","value":"Bearer T"}',
    "INSERT INTO settings VALUES ('smtp_password','P');",
    "INSERT INTO settings VALUES (1, 'api_token', 'T');",
    "password => 'P',",
    "password: 'P',",
    'let apiKey = "T"',
    'val apiToken: String = "T"',
    'config :app, password: "P"',
    ':password "P"',
    '(setq my-password "P")',
    "jdbc:postgresql://db/x?user=a&password=P",
    "Pwd=P;",
    "Uid=a;Pwd=P;",
    "RSYNC_PASSWORD=P",
    "PrivateKey = T",
    "kubectl create secret generic x --from-literal=password=P",
    "docker run -e API_TOKEN=T img",
    "docker build --build-arg TOKEN=T .",
    'Environment="API_TOKEN=T"',
    'environment=API_TOKEN="T"',
    "connect(user='x', password='P')",
    "Your temporary password is: P",
    "pw: P",
    "Passwort: P",
    "_authToken=T",
    "<server><password>P</password></server>",
    '<add key="ClearTextPassword" value="P" />',
    "ansible_password: P",
    "ansible_ssh_pass=P host",
    "SET PASSWORD FOR 'x' = 'P';",
    'pwd: "P",',
    "mysql --password P",
    "rabbitmqctl add_user u P",
    "openssl enc -pass pass:P",
    "gpg --passphrase P",
    "ldapsearch -w P",
    "PASS P",
    "email_password = P",
    "smtp.password=P",
    "spring.datasource.password=P",
    '"ConnectionStrings": {"Default": "Server=a;Password=P;"}',
    "auth_token: T",
    '"accessToken":"T"',
    "access_token=T&refresh",
    '-H "PRIVATE-TOKEN: T"',
    "-H 'Authorization: token T'",
    "-H 'Authorization: T'",
    "Authorization: ApiKey T",
    "X-Auth-Token: T",
    "Set-Cookie: sid=T; Path=/",
    'document.cookie = "session=T"',
    "?token=T",
    "#access_token=T",
    "/api?key=T",
    "wss://x/?auth=T",
    "git clone https://oauth2:T@gitlab.com/x",
    "git remote add o https://T@github.com/x",
    "pip install --index-url https://u:P@pypi.x/simple",
    "machine api.x.com login u password P",
    "//registry.npmjs.org/:_authToken=T",
    "[default]\naws_secret_access_key = T",
    'client_secret: "T"',
    "const token = 'T';",
    'token := "T"',
    "my $password = 'P';",
    '$password = "P";',
    'define("DB_PASS", "P");',
    'password="P" # comment',
    "# password: P",
    "export TOKEN='T'",
    "PGPASSWORD=P psql",
    "sshpass -p 'P' ssh",
    "mysql -uroot -p'P'",
    "curl -u user:P",
    'curl --user "user:P"',
    "wget --http-password=P",
    "secret_key_base: T",
    "SECRET_KEY = 'T'",
    'app.secret = "T"',
    "JWT_SECRET=T",
    "encryption_key: T",
    '"apiSecret" : "T"',
    "api-token: T",
    '{:api_key=>"T"}',
    "{ password: P, user: x }",
    "password = P",
    "password=P",
    "the api key is T",
    "token is `T`",
    "API key: T",
    "API Key = T",
    "token T",
    "Token: T",
    "<apiKey>T</apiKey>",
    '<property name="password">P</property>',
    '<property name="hibernate.connection.password" value="P"/>',
    '<param name="api_token" value="T"/>',
    "| api_key | T |",
    "api_key | T",
    "api_key\tT",
    '"db","password","P"',
    "- password: P",
    "env: [{name: TOKEN, value: T}]",
    "  TOKEN: ${TOKEN:-T}",
    'os.environ["TOKEN"] = "T"',
    'os.environ.setdefault("DB_PASSWORD", "P")',
    "getenv(\"TOKEN\") ?: 'T'",
    'setenv("TOKEN", "T", 1)',
    'System.setProperty("db.password", "P")',
    'headers = {"X-API-Key": "T"}',
    "headers: { Authorization: `Bearer T` }",
    'auth=("user", "P")',
    "HTTPBasicAuth('user', 'P')",
    "redis-cli -a P",
    "redis://:P@host:6379",
    "amqp://u:P@host",
    "mongodb+srv://u:P@host/db",
    "smtp://u:P@mail:587",
    'variable "token" {\n  default = "T"\n}',
    'token   = "T"',
    '"token": {"value": "T"}',
    '"token": ["T"]',
    "password: >-\n  P",
    "- name: TOKEN\n  value: T",
    "- key: TOKEN\n  value: T",
    "<key>token</key><string>T</string>",
    "data:\n  token: cTdSazJtWHY5THBadDRXbjhCY1kzZEhz",
    "htpasswd -bc f u P",
    "echo 'u:P' | chpasswd",
    "chpasswd:\n  list: |\n    root:P",
    'export const SECRET = "T"',
    'static final String PASSWORD = "P";',
    'private string _password = "P";',
    'public const string ApiKey = "T";',
    '#define API_TOKEN "T"',
    'DB_PASSWORD="P" python x',
    "--api-key=T",
    "--api-key T",
    "--db-pass 'P'",
    "-Dpassword=P",
    "-e DB_PASSWORD=P",
    "-var 'db_password=P'",
    "--set auth.password=P",
    "/password:P",
    "token=T, user=x",
    "Got token: T",
    "using password 'P'",
    "password for app is P",
    "password changed to P",
    "new password: P",
    "Your password: P",
    "PIN/password -> P",
    "password= P",
    "password : P",
    "credentials = T",
    "webhook_secret=T",
    "signing secret: T",
    "Signing Secret\nT",
    'bot_token = "T"',
    "api.key=T",
    '"secret": "P"',
    "secret P",
    "export SECRET P",
    'wifi psk="P"',
    "WPA passphrase: P",
    "otp_secret: T",
    "totp secret T",
    '"secretAccessKey": "T"',
    "SecretKey T",
    "pass: P",
    "pass = P",
    "PASS=P",
    "user=x pass=P",
    "user x pass P",
    "username: x\npassword: P",
    "Proxy-Authorization: Basic dXNlcjpGYWxjb24tNzE5MyF4",
    '"auth": "dXNlcjpGYWxjb24tNzE5MyF4"',
    "AUTH PLAIN AHVzZXIARmFsY29uLTcxOTMheA==",
    "sessionid=T",
    "JSESSIONID=T",
    "X-CSRF-Token: T",
    "laravel_session=T",
    "connect.sid=T",
]
"""Where a token or a password is known by what stands before it."""


def put(row):
    """A row with the secrets in it."""
    return re.sub(r"\bT\b", TOKEN, re.sub(r"(?<![A-Za-z0-9-])P(?![A-Za-z0-9])", PASSWORD, row))


def left(text):
    """A text without what is found in it."""
    for hit in reversed(SECRETS.find(text)):
        text = text[: hit.start] + "#" + text[hit.end :]
    return text


@pytest.mark.parametrize("row", CONTEXTS)
@pytest.mark.parametrize("written", [str, lambda text: json.dumps({"a": f"x\n{text}\ny"})], ids=["plain", "in JSON"])
def test_a_secret_is_known_by_its_context(row, written):
    text = written(put(row) + "\n")
    rest = left(text)
    encoded = (base64.b64encode(TOKEN.encode()).decode()[:12], base64.b64encode(PASSWORD.encode()).decode()[:12])
    assert [each for each in (TOKEN, PASSWORD, *encoded) if each in rest] == []
    assert rest != text


LOOKALIKES = [
    "password: $2b$12$KIXQJ8z1Y5vW9mN3pR7tUuXcVbNmLkJhGfDsAqWeRtYuIoPlKjHgF",
    '"password": "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b2dWRWJTmaasdfg"',
    "userPassword: {SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9gXsdfg",
    "ana:$apr1$hJ7k2L9m$Qw3eRt5yUi7oPaSdFgHjK1",
    "root:$6$rounds=4096$saltsalt$Ab3dEf6hIjKl9nOpQr5tUv7xYz1a2B3c4D5eAb3dEf6hIjKl:19000:0",
    'password_digest: "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"',
    "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
    'vapidPublicKey: "BEl62iUYgUivxIkv69yViEuiBIa-Ib9-SkvMeAtA3LFgDzkrxZJjSgSnfckjBJuBkr3qBUYIHBQFLXYp5Nksh8U"',
    'data-sitekey="6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI"',
    "RECAPTCHA_SITE_KEY=6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI",
    'publicKey: "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="',
    "token: ${{ github.token }}",
    "--token $(cat token.txt)",
    "Authorization: Bearer ${token1}",
    "sk-proj-****************************abcd1234",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_[A-Za-z0-9]{36}",
    're.compile(r"sk-[A-Za-z0-9]{20,}")',
    "api_key = (sensitive value)",
    "+ password = (known after apply)",
    '"password": "Mot de passe oublié ?"',
    'password_confirmation_error: "Passwords don\'t match (code 12)"',
    '"bos_token": "<s>", "eos_token": "<|im_end|>"',
    '"pad_token": "[PAD]", "unk_token": "<unk>0"',
    "pad_token_id: 151643",
    "KMS key: arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    'kms_key_id = "1234abcd-12ab-34cd-56ef-1234567890ab"',
    "password: ENC[AES256_GCM,data:Tr7o1xQ=,iv:1=,tag:2=,type:str]",
    "password=ENC(G6N718UuyPE5bHyWKyuLQSm02auQPUtm)",
    "<secret>{AQAAABAAAAAQ4bLsdf8s7dfKJ3hsdf8==}</secret>",
    "$ANSIBLE_VAULT;1.1;AES256\n66343963613263343761",
    "client_id: 123456789012-a8b7c6d5e4f3g2h1.apps.googleusercontent.com",
    "auth0|5f7c8ec7c33c6c004bbafe82",
    "script-src 'nonce-rAnd0m123456'",
    'etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"',
    "x-request-id: 7b2f9d1c-8e3a-4f5b-9c6d-1a2b3c4d5e6f",
    "price_1MoBy5LkdIwHu7ixZhnattbh",
    "acct_1032D82eZvKYlo2C",
    'nextPageToken: "CAUQAA3kQm9PbGV2ZWw5Zg"',
    'next_cursor: "dXNlcjpVMDYxTkZUVDI="',
    "continuationToken: 1!48!MDAwMDA2IWJsb2I5",
    'passwordField2 = driver.find_element(By.ID, "password2")',
    "token = tokens[i1]",
    "tokens = tokenizer.encode(text)",
    "const token = jwt.sign({id: user.id}, process.env.JWT_SECRET)",
    'secret = client.get_secret("db-password-v2")',
    'password = input("Password: ")',
    "if (password.length < 8) {",
    "password: { type: String, required: true, minlength: 8 }",
    '@Value("${db.password}") String password1;',
    "DB_PASSWORD: ${DB_PASSWORD:?err}",
    "password: {{ lookup('env', 'DB_PASS1') }}",
    "secretKeyRef: {name: db-creds-v2, key: password}",
    '"secret": "projects/123/secrets/my-secret-2/versions/latest"',
    "token_url: https://login.example.com/oauth2/v2.0/token",
    "keyPath: /etc/ssl/private/server-2024.key",
    "password_file: /run/secrets/db_password_2",
    '<input type="password" id="password1" name="password1" value="">',
    'expect(token).toBe("token-123")',
    'token: "test-token-123"',
    'password: "password123"',
    'api_key="dummy-key-123"',
    'apiKey: "YOUR_API_KEY_123"',
    "API_KEY=<your-api-key>",
    "apikey=abc123",
    "password: hunter2 example",
    "Token(type=3, string='x1')",
    'key: node-modules-v3-{{ checksum "package-lock.json" }}',
    "hash: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "secret: v1beta1",
    "token: utf8",
    "password: TestPassword",
    'private_key_path = "~/.ssh/id_ed25519"',
    'ssh_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ana"',
    "signing_key_id: 4AEE18F83AFDEB23",
    "gpg --recv-key 4AEE18F83AFDEB23",
    "rsa4096/4AEE18F83AFDEB23 2017-08-16",
    "Key fingerprint = 9DC8 5822 9FC7 DD38 854A  E2D8 8D81 803C 0EBF CD88",
    "SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDczZjdzfJ5bHyWKyu",
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----",
    "pk_live_51HG8vDLkdIwHu7ixZhnattbhAb3dEf6",
    "NEXT_PUBLIC_SUPABASE_ANON_KEY=sb_publishable_Ab3dEf6hIjKl9nOpQr5tUv",
    "idempotency-key: 7b2f9d1c-8e3a-4f5b-9c6d-1a2b3c4d5e6f",
    'cacheKey = "user:123:profile:v2"',
    "s3 key: uploads/2024/01/7b2f9d1c8e3a4f5b.png",
    '"Key": "backups/db-2024-01-15T10-30-00Z.sql.gz"',
    'sort_key: "USER#123#ORDER#456"',
    "primary_key: id_123",
    "--key-name my-key-2024",
    "KeyName: prod-key-2",
    'key_pair = "deploy-2024-prod"',
    "i18n key: errors.password.too_short_2",
    "token ids: [101, 2054, 2003]",
    "prompt_tokens=1523 completion_tokens=98",
    "Access token expired at 2024-01-15T10:30:00Z",
    "token=eyJ... (truncated)",
    "Authorization: Basic <base64>",
    "Authorization: AWS4-HMAC-SHA256 Credential=${KEY}/20240115/us-east-1/s3/aws4_request",
    "password must contain 1 digit",
    "secret/data/prod/db1",
    "JWT_ALGORITHM=HS256",
    "AUTH_TYPE=oauth2",
    "auth: none",
    "AUTH_URL=https://auth1.example.com",
    "auth_provider_x509_cert_url",
    "authorization_code",
    "Author: Jane2 <x@y>",
    'pat = re.compile("x1y2z3a4b5c6d7e8f9")',
    "wandb run id 3k2j1h4g",
    "x-csrf-token header9",
    'class="token-abc123def456"',
    ".token-string{color:#690}",
    'Bearer realm="api1",error="invalid_token"',
    "secrets: inherit",
    "export PATH=/opt/pass1/bin:$PATH",
    "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
    "passed 12 tests in 3.4s",
    "compass=N45",
    "bypass_cache=true1",
    "passenger_id: 12a34b",
    "keyboard: qwerty105",
    "keyframes: slide2left",
    "monkey: banana77",
    "author: a1b2c3d4e5f6a7b8c9d0",
    "authority: auth1.corp.example",
    "tokenizer: cl100k_base",
    "token_type_ids0 = x1",
    "secretary: mary2024x",
    "password_strength: 3of5",
    "pwd: /home/user1/project2",
    "PWD=/srv/app2/release-20240115",
    "$ pwd\n/home/ana2/x",
]
"""What tells of secrets, and holds none."""


@pytest.mark.parametrize("row", LOOKALIKES)
@pytest.mark.parametrize("written", [str, lambda text: json.dumps({"a": text})], ids=["plain", "in JSON"])
def test_what_only_looks_like_a_secret_is_none(row, written):
    assert SECRETS.find(written(row) + "\n") == []


KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hI3kL6"
LINES = "\n".join(base64.b64encode(bytes(range(at, at + 48))).decode() for at in range(0, 192, 48))
BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{LINES}\n-----END RSA PRIVATE KEY-----"
URL = "".join(f"%{ord(char):02x}" for char in KEY)
FORMS = [
    ("as it is", KEY),
    ("in base64", base64.b64encode(KEY.encode()).decode()),
    ("in base64, behind one character", base64.b64encode(f" {KEY}".encode()).decode()),
    ("in base64, behind two characters", base64.b64encode(f"a {KEY}".encode()).decode()),
    ("in base64 of URLs", base64.urlsafe_b64encode(f"??>{KEY}".encode()).decode()),
    ("in base64 of base64", base64.b64encode(base64.b64encode(KEY.encode())).decode()),
    ("in base64 behind a path", "/etc/x/" + base64.b64encode(f"key: {KEY}".encode()).decode()),
    ("in UTF-16 as PowerShell encodes commands", base64.b64encode(f"$x = '{KEY}'".encode("utf-16-le")).decode()),
    ("in a URL", quote(f"a={KEY}&b", safe="")),
    ("in a URL, all of it escaped", URL),
    ("in a URL, escaped twice", URL.replace("%", "%25")),
    ("with escapes of JSON", KEY.replace("_", "\\u005f")),
    ("behind an escaped break", f"a\\n{KEY}"),
    ("behind a color", f"\x1b[31m{KEY}"),
    ("over two lines", f"{KEY[:18]}\n{KEY[18:]}"),
    ("over two lines, indented", f"{KEY[:18]}\n        {KEY[18:]}"),
    ("over two lines of a diff", f"+{KEY[:18]}\n+{KEY[18:]}"),
    ("over two lines of a quote", f"> {KEY[:18]}\n> {KEY[18:]}"),
    ("over two lines, escaped", f"{KEY[:18]}\\n{KEY[18:]}"),
    ("over three lines", f"{KEY[:12]}\n{KEY[12:30]}\n{KEY[30:]}"),
    (
        "in lines of base64",
        "\n".join(re.findall(".{1,40}", base64.b64encode(f"a: b\nc: {KEY}\nd: e".encode()).decode())),
    ),
    *((f"{deep} deep in JSON", KEY if not deep else json.dumps(["/" + KEY])) for deep in range(2)),
]


@pytest.mark.parametrize(("sentence", "text"), FORMS, ids=[row[0] for row in FORMS])
def test_a_key_is_found_in_every_form_and_has_the_same_value(sentence, text):
    hits = SECRETS.find(f"see\n{text} and more")
    assert [(hit.kind, hit.value) for hit in hits] == [("GITHUB_TOKEN", KEY)], sentence


BLOCKS = [
    ("as a file has it", BLOCK),
    ("with breaks of Windows", BLOCK.replace("\n", "\r\n")),
    ("indented", BLOCK.replace("\n", "\n      ")),
    ("with escaped breaks", BLOCK.replace("\n", "\\n")),
    ("with breaks that are escaped twice", BLOCK.replace("\n", "\\\\n")),
    ("in a diff", "+" + BLOCK.replace("\n", "\n+")),
    ("in a comment", "# " + BLOCK.replace("\n", "\n# ")),
    ("as pieces of a program", '"' + BLOCK.replace("\n", '\\n"\n    "') + '"'),
]


@pytest.mark.parametrize(("sentence", "text"), BLOCKS, ids=[row[0] for row in BLOCKS])
def test_a_block_of_a_key_has_the_same_value_however_its_lines_are_broken(sentence, text):
    [hit] = SECRETS.find(f"x\n{text}\ny")
    assert (hit.kind, hit.value) == ("PRIVATE_KEY", BLOCK), sentence


@pytest.mark.parametrize("value", [KEY, BLOCK, TOKEN, PASSWORD])
def test_the_kind_follows_from_the_value_alone(value):
    found = [SECRETS.find(text) for text in (f"password={value}\n", f'{{"password": "{value}"}}', f"token:\t{value}\n")]
    assert {hit.kind for hits in found for hit in hits} == {kind_of(value)}


def test_what_looks_like_a_value_that_its_shape_tells_is_not_taken_for_more():
    [hit] = SECRETS.find(f"sed -i s/TOKEN=.*/TOKEN={KEY}/ .env")
    assert hit.value == KEY


def test_a_line_that_is_another_one_is_no_part_of_a_value():
    [hit] = SECRETS.find("_auth=OnRva2Vu8U8Ffcva6LmEYxWT1x1p3k7Jrf==\nalways-auth=true\n")
    assert hit.value.endswith("==")


@pytest.mark.parametrize("text", [put(row) for row in CONTEXTS] + [KEY, BLOCK])
def test_what_was_replaced_is_not_found_once_more(text):
    place = Placeholders(b"a key for tests of it").of
    for hit in reversed(SECRETS.find(text)):
        text = text[: hit.start] + place(hit) + text[hit.end :]
    assert SECRETS.find(blanked(text)) == []


PIECES = st.sampled_from(
    [
        *"aA0-_/+=.:@\"'\\ \n\0%{}<>",
        *map(put, CONTEXTS),
        KEY,
        BLOCK,
        URL,
        "\ud800",
        "\U0001f511",
        "é",
        "\\u005f",
        "token=",
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join))
def test_hits_stand_in_order_within_the_text_and_apart(text):
    hits = SECRETS.find(text)
    assert all(0 <= hit.start < hit.end <= len(text) and hit.value for hit in hits)
    assert all(one.end <= other.start for one, other in itertools.pairwise(hits))


@pytest.mark.parametrize("char", ["a", "0", "A", "/", "\\", "%", "\n", "\0", "\ud800", "=", '"', "é", "&"])
def test_a_million_of_one_character_hold_nothing(char):
    assert SECRETS.find(char * 1_000_000) == []


@given(st.text(max_size=40))
def test_characters_that_are_not_ascii_move_nothing(before):
    hits = [hit for hit in SECRETS.find(f"{before} 🔑é {KEY} ") if hit.value == KEY]
    assert [hit.start for hit in hits] == [len(before) + 4]
