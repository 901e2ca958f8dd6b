"""Passwords in the flags of commands. The flags are from the documentation that ``rules/commands.toml`` names."""

import json

import pytest

from chatsquash.redaction.rules import builtin
from chatsquash.redaction.secrets import Secrets
from tests.conftest import cases

SECRETS = Secrets()
PASSWORD = "pepper4892Thistle"
RULES = [rule for rule in builtin() if rule.commands]
SPELLINGS = {
    "7zip-flag": "-p{}", "rar-flag": "-hp{}", "unar-flag": "-p {}", "info-zip-flag": "-P {}", "pdf-flag": "-upw {}",
    "mysql-flag": "-p{}", "sqlserver-flag": "-P {}", "sybase-flag": "-P{}", "firebird-flag": "-pas {}",
    "vertica-flag": "-w {}", "redis-flag": "-a {}", "mosquitto-flag": "-P {}", "mqttx-flag": "-P {}",
    "ldap-flag": "-w {}", "kerberos-flag": "-w {}", "snmp-flag": "-v3 -l authPriv -a SHA -A {}", "ipmi-flag": "-P {}",
    "freerdp-flag": "/v:host1 /p:{}", "putty-flag": "-pw {}", "ssh-keys-flag": "-N {}", "lftp-flag": "-u ana,{}",
    "samba-flag": "-U 'CORP/ana%{}'", "httpie-flag": "-a ana:{}", "splunk-flag": "-auth ana:{}",
    "impacket-flag": "-hashes :{}",
}  # fmt: skip
"""How a rule's password is written, unless it is ``-p VALUE``."""

COMMANDS = [
    f"{command} {SPELLINGS.get(rule.name, '-p {}')}".format(PASSWORD) for rule in RULES for command in rule.commands
]


def found(text):
    return [text[hit.start : hit.end] for hit in SECRETS.find(text)]


def test_the_table_has_more_than_a_hundred_commands():
    assert len(COMMANDS) > 100


@pytest.mark.parametrize("text", COMMANDS)
def test_the_password_of_a_flag_is_found_by_itself(text):
    assert found(text) == [PASSWORD]
    assert found(f"{text} next.txt | tee log\n") == [PASSWORD]
    assert PASSWORD in found(json.dumps({"command": f"cd x\nsudo {text}"}))


@cases(
    "text",
    ("a list of arguments", f'run(["unzip", "-P", "{PASSWORD}", "a.zip"])'),
    ("a list with a glued value", f'run(["7z", "x", "-p{PASSWORD}", "a.7z"])'),
    ("the path of a program", f"C:\\Tools\\7z.exe a -p{PASSWORD} a.7z"),
    ("a continued line", f"zip -r \\\n  -P {PASSWORD} a.zip d"),
    ("a separator in quotes", f'sqlcmd -Q "use a; select 1" -P {PASSWORD}'),
    ("a user with the name of a command", f"mongosh -u mysql -p {PASSWORD}"),
    ("within another command", f"docker exec db mysql -uroot -p{PASSWORD} shop"),
    ("before another command", f"sshpass -p {PASSWORD} ssh -p 2222 host1"),
    ("both passwords of a key store", f"keytool -genkey -storepass {PASSWORD}"),
    ("a password for sudo", f"echo {PASSWORD} | sudo -S true"),
    ("a password for kinit", f"echo '{PASSWORD}' | kinit ana@CORP.IO"),
    ("a here-string", f"kinit ana@CORP.IO <<< '{PASSWORD}'"),
    ("an encrypted disk", f"echo -n {PASSWORD} | cryptsetup luksOpen /dev/sdb1 disk"),
    ("an encrypted disk with printf", f"printf '%s' '{PASSWORD}' | sudo cryptsetup open --key-file - /dev/sdb1 disk"),
    ("a login of RADIUS", f"radtest -t mschap ana {PASSWORD} localhost 0 testing123"),
    ("a login of Teradata", f"bteq <<EOF\n.logon td1/ana,{PASSWORD}\nEOF"),
    ("any command", f"tool --passwd {PASSWORD}"),
    ("a short name", f"tool --pass {PASSWORD}"),
)
def test_a_password_of_a_command_is_found_in_other_notations(text):
    assert found(text) == [PASSWORD]


def test_both_passwords_of_snmp_are_found():
    other = "velvet73Quartz"
    assert found(f"snmpget -u mon -a SHA -A {PASSWORD} -x AES -X {other} sw1") == [PASSWORD, other]


@pytest.mark.parametrize("value", ["kR8vTq41ZsNw3dRk72BqLp", "7f0c3a19d2b84e6fa1c5d7e90b326f48"])
def test_a_key_of_honeycomb_is_found_by_its_header(value):
    assert found(f"-H 'X-Honeycomb-Team: {value}'") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "mkdir -p build7Qx/sub9",
        "cp -p notes7Qx.txt target9Zk",
        "ssh -p 22 host1",
        "docker run -p 127.0.0.1:8080:80 nginx",
        "docker run --name mysql -p 3306:3306 mysql",
        "psql -p 5432 -U app",
        "nc -p 8080 host1",
        "grep -P 'aB3\\d+xyz9' file",
        "curl -X POST https://example.org",
        "scp -P 2222 a b",
        "rsync -P src7Qx/ dst9Zk/",
        "mysql -P 3306 -h db1",
        "make -p all7Qx9",
        "mysqldump -u root -p shop7Qx > a.sql",
        "unzip -p archive7Q.zip member9Zk.txt",
        "7z x -p archive7Q.7z",
        "unzip a.zip && mkdir -P kR8vTq41Zs",
        "unzip a.zip\ntool -P kR8vTq41Zs",
        "sshpass -e scp -p kR8vTq41Zs host1:",
        'unzip -P "$ZIP_PASS1" a.zip',
        "zip -P ${ZIP_PASS1} a.zip b",
        "unzip -P %ZIP_PASS% a.zip",
        "sqlcmd -S db1 -U sa -P <password1>",
        "redis-cli -a your_password1 ping",
        "docker login -u ana --password-stdin",
        "ldapsearch -x -W -D cn=admin -b dc=corp",
        "rdesktop -p - host1",
        "tool --pass-through kR8vTq41Zs",
        "echo $PASS1 | sudo -S true",
        "the archive was made by zip-P kR8vTq41Zs",
    ],
)
def test_what_other_flags_take_stays(text):
    assert found(text) == []
