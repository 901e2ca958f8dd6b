import sys,os,time,subprocess,json
from pathlib import Path
from tests.agents.run import *
from tests.agents.server import *
name=sys.argv[1]; out=Path(sys.argv[2])
kind=AGENTS[name]
script={f"u{n}":s for n,s in enumerate([[Step("call"),Step("text")],[Step("parallel"),Step("text")],[Step("agent","s1"),Step("text")],[Step("text")],[Step("call"),Step("text")],[Step("text")],[Step("text")]],1)}
script["s1"]=[Step("call"),Step("text")]
run="c77"
with ModelServer(run,script,kind.call,out/"log"/f"{name}.jsonl",kind.session_header) as server:
    agent=kind(out/"home",server.url)
    env={"PATH":os.environ["PATH"],"HOME":str(out/"home"),"TERM":"xterm-256color","ANTHROPIC_API_KEY":"k","OPENAI_API_KEY":"k","GEMINI_API_KEY":"k",**agent.env()}
    env.pop("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",None)
    cmd={"claude":f"{BIN}/claude --dangerously-skip-permissions --model claude-sonnet-4-5","codex":f"{BIN}/codex --dangerously-bypass-approvals-and-sandbox","gemini":f"{BIN}/gemini --yolo -m gemini-2.5-pro","opencode":f"{BIN}/opencode -m x/m"}[name]
    sock=f"chk{os.getpid()}"
    tm=lambda *a: subprocess.run(["tmux","-L",sock,*a],capture_output=True,text=True,env={**env})
    r=tm("new-session","-d","-x","120","-y","40","-c",str(out/"home"/"work"),"env -i "+" ".join(f"{k}={v!r}" for k,v in env.items())+" "+cmd)
    print(r)
    time.sleep(6)
    def screen(): return tm("capture-pane","-p").stdout
    print(screen())
    keys=sys.argv[3:] or []
    for k in keys: tm("send-keys",k); time.sleep(1.5)
    for n in range(1,8):
        tm("send-keys","-l",f"Please go on with the work, ux{run}x{n:03}"); time.sleep(.5); tm("send-keys","Enter")
        time.sleep(7)
        print(n,server.number)
        if n==6:
            tm("send-keys","-l","/compact"); time.sleep(.5); tm("send-keys","Enter"); time.sleep(1); tm("send-keys","Enter"); time.sleep(6); print("compact",server.number)
    print(screen())
    tm("kill-server")
rows=[e._asdict() for e in server.sent]
(out/"truth.json").write_text(json.dumps(rows,indent=1))
for r in rows: print(r["reply"],r["kind"]," ".join(r["before"])[-40:],"|",r["last"][:80].replace("\n"," "))
