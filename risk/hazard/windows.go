package hazard

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// Commands of Windows are read by our own reader: cmd.exe and PowerShell have
// neither a common grammar nor a parser that is at hand. The text is brought to
// a plain form (marks that mean nothing removed, pieces put together, encoded
// commands decoded), cut into commands, and compared with tables.

// windowsPrograms are programs and cmdlets by which such commands are known.
var windowsPrograms = set(`cmd powershell pwsh reg regedit regsvr32 rundll32 mshta wmic certutil bitsadmin schtasks sc net net1 netsh vssadmin wbadmin bcdedit wevtutil fsutil cipher icacls takeown attrib
	cscript wscript msiexec installutil msbuild regasm regsvcs cmstp forfiles pcalua odbcconf control ieexec msxsl presentationhost hh makecab expand extrac32 findstr esentutl diskshadow ntdsutil dsquery nltest
	tasklist taskkill whoami systeminfo ipconfig nslookup query qwinsta dir del erase copy xcopy robocopy move ren type start assoc ftype setx runas psexec procdump mimikatz rubeus sdelete
	invoke-expression iex invoke-webrequest iwr invoke-restmethod irm invoke-command icm new-object start-process get-childitem get-content set-content add-content remove-item copy-item new-item set-itemproperty
	new-itemproperty get-itemproperty remove-itemproperty set-mppreference add-mppreference stop-service set-service new-service get-service get-process stop-process clear-eventlog register-scheduledtask new-localuser
	add-localgroupmember get-wmiobject invoke-wmimethod get-ciminstance invoke-cimmethod set-executionpolicy import-module get-aduser get-adcomputer import-certificate enable-psremoting get-credential wt winget choco explorer shutdown format diskpart chkdsk sfc dism gpupdate gpresult
	nbtstat arp route tracert winrm winrs cmdkey klist auditpol rd md mkdir rmdir echo set ver vol color cls title pause timeout where fc comp find sort more tree mklink subst`)

// looksWindows says whether a text is, or holds, a command of Windows.
func looksWindows(text string) bool {
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	low := strings.ToLower(text)
	for _, sign := range windowsMarks {
		if strings.Contains(low, sign) {
			return true
		}
	}
	return isWindowsOnly(text)
}

// windowsMarks are what hardly any other text holds.
var windowsMarks = []string{".exe", "powershell", "cmd /", ":\\", "%comspec%", "%temp%", "%appdata%", "%userprofile%", "%systemroot%", "%windir%", "%programdata%", "$env:", "hklm", "hkcu", "hkey_", "reg add", "reg delete", "reg query", "reg save", "new-object", "invoke-", "set-mppreference", "iex(", "iex (", "| iex", "|iex", "[system.", "[convert]", "[ref]", "wmic ", "net user ", "net localgroup", "net1 ", "schtasks", "vssadmin", "wbadmin", "bcdedit", "wevtutil", "netsh ", "rundll32", "regsvr32", "certutil", "bitsadmin", "mshta", "sc stop", "sc config", "sc create", "sc delete", "cscript", "wscript", "icacls", "takeown", "pwsh", "fsutil", "nltest", "procdump", "mimikatz", "ntdsutil", "diskshadow", "wmiobject", ".ps1", "rd /s", "del /", "msiexec", "esentutl", "auditpol", "cmdkey", "forfiles", "-encodedcommand", "[char]",
	"write-host", "write-output", "get-childitem", "get-content", "set-content", "where-object", "foreach-object", "select-object", "test-path", "join-path", "out-file", "$_."}

// isWindowsOnly says whether a text is for no Unix shell: then what a Unix
// parser would make of it is not asked.
func isWindowsOnly(text string) bool {
	t := strings.TrimSpace(text)
	first, _, _ := strings.Cut(t, "\n")
	word := first
	if i := strings.IndexAny(word, " \t|;&("); i >= 0 {
		word = word[:i]
	}
	low := strings.ToLower(strings.Trim(word, `"'@&`))
	raw := low
	if i := strings.LastIndexAny(low, `\/`); i >= 0 {
		low = low[i+1:]
	}
	switch {
	case strings.HasSuffix(low, ".exe") || strings.HasSuffix(low, ".bat") || strings.HasSuffix(low, ".ps1"):
		return !strings.HasPrefix(raw, "/") || strings.Contains(raw, `\`)
	case strings.Contains(raw, `:\`) || strings.HasPrefix(raw, `%`) || strings.HasPrefix(raw, "$env:") || strings.HasPrefix(raw, "["):
		return !strings.HasPrefix(t, "[ ") && !strings.HasPrefix(t, "[[")
	case strings.HasPrefix(t, "$") && strings.Contains(first, "=") && strings.Index(first, " =") > 0:
		return true // $x = …, which is no assignment in a Unix shell
	case verbs[before(low, '-')] && strings.Contains(low, "-"):
		return true
	case unixToo[low]:
		return strings.Contains(t, `:\`) || strings.Count(first, "%") > 1 && strings.Contains(strings.ToLower(first), "%\\")
	}
	return windowsPrograms[low]
}

func before(s string, c byte) string {
	if i := strings.IndexByte(s, c); i >= 0 {
		return s[:i]
	}
	return s
}

// verbs begin the names of cmdlets.
var verbs = set("get set new remove add clear start stop invoke import export out write read test enable disable copy move rename select where foreach convertto convertfrom register unregister install uninstall update restart suspend resume wait show hide send receive enter exit connect disconnect mount dismount format measure sort group compare join split resolve save restore compress expand checkpoint")

// unixToo are names that both systems know.
var unixToo = set("echo find sort more set route arp nslookup whoami hostname mkdir rmdir cd type start tree ftp curl tar ssh copy move format comp where net expand query dir timeout title color title ver pwsh powershell choco winget at shutdown explorer assoc control cmd cipher hh fc control")

type windowsHabit struct {
	commands string
	words    string
	code     string
	weight   float64
}

// windowsHabits are the commands, in lower case and without .exe, that endanger
// by themselves. Every group of words must be among the arguments.
var windowsHabits = []windowsHabit{
	// Recovery and destruction.
	{"vssadmin", "delete|resize shadows|shadowstorage", "destroy.backup", 0},
	{"wmic", "shadowcopy delete|call", "destroy.backup", 0},
	{"wbadmin", "delete", "destroy.backup", 0},
	{"bcdedit", "*recoveryenabled*|*bootstatuspolicy*|safeboot", "destroy.backup", 0},
	{"bcdedit", "testsigning|nointegritychecks|*integritychecks*", "defense.disable", 0},
	{"reagentc", "/disable", "destroy.backup", 0},
	{"diskshadow", "", "destroy.backup", 0.82},
	{"fsutil", "usn deletejournal", "log.clear", 0.88},
	{"cipher", "/w*", "destroy.wipe", 0.8},
	{"sdelete sdelete64", "*", "destroy.wipe", 0.6},
	{"format", "*:", "destroy.format", 0.8},
	{"diskpart", "", "destroy.format", 0.5},
	{"del erase rd rmdir", "/s|/f|/q c:\\|c:\\*|c:\\windows*|c:\\users*|%systemroot%*|%systemdrive%*|*.vhd|*.bak|*.bac|*.bkf|*.wbcat|*.dsk", "destroy.system", 0.9},
	{"del erase", "*.log|*.evtx|*prefetch*|*ntuser*", "log.clear", 0.8},
	{"remove-item ri rm del", "*prefetch*|*.evtx|*consolehost_history*|*psreadline*", "log.clear", 0.85},
	{"remove-item ri rm", "-recurse|-r|-force c:\\|c:\\windows*|c:\\*|$env:systemroot*", "destroy.system", 0.82},
	{"shutdown", "/s|/r|/p|-s|-r", "destroy.halt", 0},
	{"stop-computer restart-computer", "", "destroy.halt", 0},

	// Recording and protection.
	{"wevtutil", "cl|clear-log", "log.clear", 0},
	{"wevtutil", "sl|set-log */e:false|/e:false|*/ca*|/ms:*", "log.stop", 0},
	{"wevtutil", "um|uninstall-manifest", "log.stop", 0},
	{"clear-eventlog remove-eventlog limit-eventlog", "", "log.clear", 0},
	{"auditpol", "/clear|/remove|*disable*", "log.stop", 0},
	{"auditpol", "/set", "log.stop", 0.6},
	{"logman", "stop|update|delete", "log.stop", 0.8},
	{"set-mppreference add-mppreference", "*", "defense.disable", 0},
	{"uninstall-windowsfeature remove-windowscapability", "*defender*", "defense.disable", 0},
	{"mpcmdrun", "-removedefinitions", "defense.disable", 0},
	{"mpcmdrun", "-downloadfile*", "windows.lolbin", 0},
	{"sc sc.exe", "stop|delete|config *", "defense.disable", 0.5},
	{"sc sc.exe net net1 stop-service set-service", "*windefend*|*wscsvc*|*sense*|*eventlog*|*sysmon*|*mpssvc*|*wuauserv*|*vss*|*wdnissvc*|*securityhealth*|*splunk*|*cylance*|*carbonblack*|*csagent*|*symantec*|*sophos*|*mcafee*|*trend*|*backup*|*sql*|*exchange*|*veeam*|*spooler*|*mbamservice*|*osquery*|*elastic*|*autologger*", "defense.disable", 0.82},
	{"netsh", "*firewall* off|disable|*state=off|*mode=disable", "defense.firewall", 0},
	{"netsh", "*firewall* add|set allow|*action=allow|enable|*enable=yes", "defense.firewall", 0.8},
	{"netsh", "*portproxy* add", "shell.listener", 0.82},
	{"netsh", "add helper", "persist.windows", 0},
	{"netsh", "trace start", "secret.sniff", 0.75},
	{"netsh", "wlan *key=clear*", "secret.read", 0.85},
	{"set-netfirewallprofile new-netfirewallrule disable-netfirewallrule", "", "defense.firewall", 0.7},
	{"set-netfirewallprofile", "*false*", "defense.firewall", 0},
	{"fltmc", "unload", "defense.disable", 0},
	{"taskkill", "*defend*|*sysmon*|*msmpeng*|*winword*|*sql*|*splunk*|*elastic*", "defense.disable", 0.8},
	{"stop-process", "*sysmon*|*defend*", "defense.disable", 0.8},
	{"sysmon sysmon64", "-u", "defense.disable", 0},
	{"set-executionpolicy", "bypass|unrestricted|remotesigned", "windows.policy", 0.5},
	{"dism", "/disable-feature *defender*", "defense.disable", 0},
	{"attrib", "+h|+s", "shell.hidden_place", 0.6},
	{"set-smbserverconfiguration", "*", "defense.disable", 0.5},

	// Credentials.
	{"reg", "save|export hklm\\sam|hklm\\security|hklm\\system|*\\sam|*\\security|hklm", "secret.dump", 0},
	{"ntdsutil", "*", "secret.dump", 0},
	{"procdump procdump64", "*lsass*|-ma", "secret.dump", 0},
	{"rundll32", "*comsvcs* *", "secret.dump", 0},
	{"createdump sqldumper dumpminitool tttracer rdrleakdiag", "", "secret.dump", 0.85},
	{"taskmgr", "", "secret.dump", 0.3},
	{"cmdkey vaultcmd", "/list*", "secret.read", 0.82},
	{"cmdkey", "/add*|/generic*", "priv.impersonate", 0.5},
	{"mimikatz rubeus lazagne gsecdump pwdump wce sharpdump kerbrute sharphound seatbelt safetykatz inveigh powersploit nanodump dumpert xordump pypykatz secretsdump crackmapexec cme winpeas winpeasany sharpview adfind", "", "code.attack_tool", 0.86},
	{"psexec psexec64 paexec", "*", "windows.remote", 0.6},
	{"psexec psexec64 paexec", "-s|-c|-i|/s|-accepteula", "windows.remote", 0.82},
	{"invoke-mimikatz invoke-kerberoast invoke-dcsync get-gpppassword invoke-bloodhound invoke-inveigh invoke-psexec get-keystrokes invoke-ninjacopy invoke-tokenmanipulation invoke-shellcode invoke-reflectivepeinjection invoke-powershelltcp powercat invoke-dllinjection invoke-passwordspray invoke-wcmdump invoke-wmicommand get-system invoke-allchecks invoke-sharefinder invoke-nightmare", "", "code.attack_tool", 0},
	{"findstr", "*password*|*passwd*|*cpassword* *", "secret.search", 0.8},
	{"reg", "query *password*|*winlogon*|*putty*|*autologon*|*realvnc*", "secret.search", 0.82},
	{"reg", "query /f password", "secret.search", 0.85},
	{"esentutl", "/y|/vss", "secret.dump", 0.75},
	{"copy xcopy copy-item", "*ntds.dit*|*config\\sam*|*harddiskvolumeshadowcopy*|*login?data*", "secret.dump", 0.9},
	{"vssadmin", "create shadow*", "secret.dump", 0.75},
	{"wmic", "shadowcopy call create*", "secret.dump", 0.8},
	{"klist", "*", "secret.read", 0.35},
	{"setspn", "-q|-t|-f", "secret.search", 0.75},
	{"dsquery ldifde csvde adfind", "", "windows.recon", 0.6},
	{"nltest", "/*", "windows.recon", 0.6},
	{"runas", "/savecred|/netonly", "priv.impersonate", 0.7},
	{"runas", "/user*", "priv.impersonate", 0.4},

	// Accounts.
	{"net net1", "user /add|*/add", "priv.account", 0.82},
	{"net net1", "localgroup|group /add|*/add", "priv.admin_account", 0.86},
	{"net net1", "user /active*|/active:yes", "priv.account", 0.82},
	{"net net1", "user|localgroup|group|accounts|view|share|session|config", "windows.recon", 0.2},
	{"net net1", "user *", "windows.recon", 0.25},
	{"net net1", "use \\\\*", "windows.remote", 0.45},
	{"net net1", "share *=*", "windows.remote", 0.5},
	{"new-localuser new-aduser", "", "priv.account", 0.8},
	{"add-localgroupmember add-adgroupmember", "", "priv.admin_account", 0.82},
	{"set-localuser set-adaccountpassword", "", "priv.password", 0.7},
	{"enable-localuser", "", "priv.account", 0.6},

	// Tasks, services, the registry.
	{"schtasks", "/create|-create", "persist.task", 0},
	{"schtasks", "/change|/run|/delete", "persist.task", 0.45},
	{"register-scheduledtask register-scheduledjob new-scheduledtask invoke-cimmethod", "", "persist.task", 0.8},
	{"at", "*:*", "persist.task", 0.8},
	{"sc sc.exe", "create|failure|sdset|\\\\*", "persist.service", 0.82},
	{"sc sc.exe", "config *binpath*", "persist.service", 0.86},
	{"new-service", "", "persist.service", 0.8},
	{"reg", "add *\\run|*\\runonce|*\\runonceex*|*winlogon*|*image?file?execution?options*|*\\shell\\open\\command*|*inprocserver32*|*\\environment*|*userinitmprlogonscript*|*appinit*|*lsa*|*\\explorer\\*|*\\policies\\*|*\\services\\*|*startup*|*cor_profiler*|*silentprocessexit*|*netsh*|*print\\*|*bootexecute*|*screensaver*|*desktop*|*shell?folders*|*command?processor*|*active?setup*|*\\treatas*|*amsi*|*ms-settings*|*windowsfirewall*|*firewallpolicy*|*eventlog*|*wdigest*|*schannel*|*terminal?server*|*trusted?documents*|*office*|*mscfile*|*windows?defender*|*windows?script*|*autologger*|*currentversion\\*|*internet?settings*|*credssp*|*securityproviders*|*uac*|*exefile*|*\\dotnet*|*control?panel*|*session?manager*|*\\command", "persist.windows", 0.82},
	{"reg", "add *enablelua*|*consentprompt*|*disableantispyware*|*disablerealtime*|*disabletaskmgr*|*disableregistrytools*|*disablecmd*|*noclose*|*uselogoncredential*|*restrictedadmin*|*fdenytsconnections*|*enablefirewall*|*scriptblocklogging*|*modulelogging*|*hidden*|*tamperprotection*|*start*", "defense.disable", 0.82},
	{"reg", "add *", "windows.registry", 0.5},
	{"reg", "export hklm\\sam*|hklm\\security*|*:*:*", "secret.dump", 0.82},
	{"disable-windowsoptionalfeature", "*defender*", "defense.disable", 0},
	{"install-transportagent", "", "persist.service", 0.85},
	{"appcmd", "install|add|set module|*module*|*", "persist.service", 0.7},
	{"reg", "delete *defender*|*amsi*|*\\run*|*eventlog*|*safeboot*|*terminal?server?client*|*autologger*|*runmru*|*\\shell*", "defense.disable", 0.82},
	{"reg", "delete *", "windows.registry", 0.5},
	{"reg", "import|load", "windows.registry", 0.6},
	{"regedit regini", "/s|*.reg|*.ini", "windows.registry", 0.6},
	{"set-itemproperty new-itemproperty new-item sp", "*\\run*|*winlogon*|*image?file?execution*|*inprocserver32*|*shell\\open*|*defender*|*amsi*|*enablelua*|*\\lsa*|*\\policies\\*|*\\services\\*|*environment*|*ms-settings*|*scriptblocklogging*|*safeboot*|*\\currentversion\\*|*firewallpolicy*|*terminal?server*|*schannel*|*exefile*|*mscfile*|*command?processor*", "persist.windows", 0.82},
	{"remove-itemproperty remove-item clear-itemproperty", "*amsi*|*defender*|*eventlog*|*\\run*", "defense.disable", 0.82},
	{"setx", "*cor_*|*comspec*|*path*|*windir*", "code.library_hijack", 0.6},
	{"assoc ftype", "*=*", "persist.windows", 0.7},
	{"set-wmiinstance register-wmievent", "", "persist.windows", 0.85},
	{"wmic", "*eventfilter*|*eventconsumer*|*filtertoconsumer*", "persist.windows", 0.88},
	{"set-content add-content out-file copy copy-item xcopy", "*\\startup\\*|*\\startup|*profile.ps1*|$profile*", "persist.windows", 0.85},
	{"bitsadmin", "/setnotifycmdline|*setnotifycmdline*", "persist.windows", 0.86},
	{"takeown", "/f", "windows.registry", 0.5},
	{"icacls cacls", "*grant*|*everyone*|*reset*", "priv.open_mode", 0.5},
	{"icacls", "*everyone*|*s-1-1-0* *f*", "priv.open_mode", 0.7},
	{"mofcomp", "*", "persist.windows", 0.82},

	// Programs of Windows that run what their names do not say.
	{"regsvr32", "/i*|*scrobj*|http*|/s|/u|*", "windows.lolbin", 0.6},
	{"regsvr32", "*http*|*scrobj*|*.sct|*\\temp\\*|*appdata*|*\\\\*", "windows.lolbin", 0.9},
	{"rundll32", "*javascript:*|*http*|*url.dll*|*ieadvpack*|*advpack*|*setupapi*|*zipfldr*|*pcwutl*|*shdocvw*|*mshtml*|*syssetup*|*dfshim*|*desk.cpl*|*scrobj*|*launchinfsection*|*shell32*|*ieframe*|*user32*|*davclnt*|*printui*|*-sta|*.sct|*\\temp\\*|*appdata*|*\\\\*|*.txt*|*.jpg*|*.log*", "windows.lolbin", 0.85},
	{"rundll32", "*#*", "windows.lolbin", 0.8},
	{"rundll32", "*", "windows.lolbin", 0.5},
	{"mshta", "*", "windows.lolbin", 0.88},
	{"certutil", "*urlcache*|*verifyctl*|*-url|/url|*url*", "windows.lolbin", 0.88},
	{"certutil", "*decode*|*encode*", "windows.lolbin", 0.6},
	{"certutil", "*decode*|*encode* *.exe|*.dll|*.bat|*.ps1|*.vbs|*\\temp\\*|%temp%*", "windows.lolbin", 0.84},
	{"certutil", "*addstore*|*importpfx*|*exportpfx*", "defense.trust", 0.8},
	{"bitsadmin", "/transfer|*/addfile*|/addfile|/create|*transfer*", "windows.lolbin", 0.85},
	{"start-bitstransfer", "", "windows.download", 0.6},
	{"wmic", "process call|*create*", "windows.lolbin", 0.82},
	{"wmic", "*/format:*|/format:http*|*.xsl*", "windows.lolbin", 0.86},
	{"wmic", "/node:*", "windows.remote", 0.6},
	{"wmic", "product uninstall", "defense.disable", 0.82},
	{"wmic", "*", "windows.recon", 0.25},
	{"msiexec", "*http*|/y|/z|-y|-z", "windows.lolbin", 0.85},
	{"msiexec", "/q*|/i|-i|-q* *\\temp\\*|*\\\\*|*.png|*.jpg", "windows.lolbin", 0.7},
	{"cmstp", "*.inf|*http*", "windows.lolbin", 0.86},
	{"cmstp", "*", "windows.lolbin", 0.5},
	{"installutil regasm regsvcs msxsl ieexec odbcconf presentationhost xwizard infdefaultinstall syncappvpublishingserver appsyncpublishingserver pcalua scriptrunner microsoft.workflow.compiler atbroker bginfo register-cimprovider te tracker wab mavinject dnscmd gpscript jsc vbc runscripthelper sqltoolsps verclsid winrm.vbs manage-bde.wsf pubprn.vbs slmgr.vbs ttdinject wsreset fodhelper eventvwr computerdefaults sdclt slui offlinescannershell workfolders cl_mutexverifiers.ps1 cl_invocation.ps1 cl_loadassembly.ps1 utilityfunctions.ps1 desktopimgdownldr imewdbld datasvcutil cmdl32 configsecuritypolicy finger ie4uinit dxcap devtoolslauncher agentexecutor appvlp wfc rcsi fsi fsianycpu csi dotnet-trace squirrel update remote runexehelper unregmp2 wuauclt ssh-keygen printbrm pnputil stordiag ilasm mpiexec wlrmdr certoc customshellhost ldifde setres conhost iediagcmd msedge_proxy teams provlaunch msdeploy vsjitdebugger adplus cdb coregen diskshadow dsdbutil ngen findstr.exe", "*", "windows.lolbin", 0.82},
	{"fodhelper eventvwr computerdefaults sdclt slui wsreset", "", "windows.uac", 0.8},
	{"msbuild", "*.xml|*.csproj|*.txt|*\\temp\\*|*", "windows.lolbin", 0.6},
	{"forfiles", "/c|-c", "windows.lolbin", 0.8},
	{"control", "*.cpl|*.dll|*:*", "windows.lolbin", 0.7},
	{"hh", "*http*", "windows.lolbin", 0.86},
	{"hh", "*http*|*.chm|*", "windows.lolbin", 0.75},
	{"cscript wscript", "*.vbs|*.js|*.txt|*.wsf|*.jse|*.vbe|//e*|*//e:*", "windows.lolbin", 0.65},
	{"cscript wscript", "*\\temp\\*|*http*|*appdata*|*//e:*|*:*.vbs", "windows.lolbin", 0.85},
	{"expand extrac32 makecab", "*\\\\*|*:*.*:*", "windows.lolbin", 0.8},
	{"extrac32 makecab replace print diantz", "*", "windows.lolbin", 0.5},
	{"findstr", "/v */l*|/l|*", "windows.recon", 0.15},
	{"pnputil", "*add-driver*|-i|-a|*/add*", "windows.lolbin", 0.7},
	{"winrm winrs invoke-command icm enter-pssession new-pssession", "*", "windows.remote", 0.5},
	{"winrm", "invoke|i create|*", "windows.remote", 0.82},
	{"enable-psremoting", "", "windows.remote", 0.7},
	{"add-type", "*dllimport*|*kernel32*|*virtualalloc*", "code.inject", 0.82},
	{"whoami", "/priv|/all|/groups", "windows.recon", 0.4},
	{"systeminfo ipconfig tasklist qwinsta quser netstat", "", "windows.recon", 0.15},
	{"explorer", "/root*|shell:*", "windows.lolbin", 0.6},
	{"mklink", "*globalroot*|*shadowcopy*", "secret.dump", 0.88},
	{"fc comp type more", "*sam|*ntds*", "secret.dump", 0.7},
	{"psr", "/start", "secret.capture", 0.8},
}

var windowsHabitsByName = func() map[string][]parsedHabit {
	m := map[string][]parsedHabit{}
	for _, h := range windowsHabits {
		p := parsedHabit{code: h.code, weight: h.weight}
		for _, g := range strings.Fields(h.words) {
			p.groups = append(p.groups, strings.Split(g, "|"))
		}
		for _, n := range strings.Fields(h.commands) {
			m[n] = append(m[n], p)
		}
	}
	return m
}()

// windowsSigns are what a whole script holds together: every part must be in the
// text, in lower case; alternatives are separated by |.
var windowsSigns = []struct {
	parts  string
	code   string
	weight float64
}{
	{"net.sockets.tcpclient|net.sockets.socket|sockets.tcpclient getstream|.send(|.write( iex|invoke-expression|cmd|powershell|process|.invoke(", "shell.reverse_shell", 0},
	{"tcplistener acceptt iex|invoke-expression|cmd|process", "shell.bind_shell", 0},
	{"net.sockets.udpclient|net.sockets.tcpclient iex|invoke-expression", "shell.reverse_shell", 0},
	{"connectex|iptostring|clientwebsocket iex|invoke-expression", "shell.reverse_shell", 0.9},
	{"downloadstring|downloaddata|invoke-webrequest|invoke-restmethod|iwr_|irm_|iwr(|irm(|webrequest|xmlhttp|openread iex|invoke-expression|.invoke(|scriptblock|[reflection.assembly]|&(", "shell.download_run", 0},
	{"downloadfile|invoke-webrequest|iwr_|start-bitstransfer start-process|invoke-item|&_|.exe;|saps", "shell.download_run", 0.82},
	{"downloadfile", "windows.download", 0.65},
	{"downloadstring", "windows.download", 0.82},
	{"frombase64string iex|invoke-expression|.invoke(|start-process|assembly|scriptblock|-enc", "shell.encoded_run", 0},
	{"frombase64string", "shell.encoded_run", 0.6},
	{"deflatestream|gzipstream iex|invoke-expression|readtoend", "shell.encoded_run", 0},
	{"[reflection.assembly]::load|[system.reflection.assembly]::load|assembly]::load(", "code.inject", 0.82},
	{"amsiutils|amsiinitfailed|amsiscanbuffer|amsicontext", "defense.disable", 0.95},
	{"etwprovider|etweventwrite|pseventlogprovider|cachedgrouppolicysettings", "log.stop", 0.9},
	{"virtualalloc|createremotethread|writeprocessmemory|queueuserapc|getdelegateforfunctionpointer|ntcreatethreadex", "code.inject", 0.9},
	{"-windowstyle_hidden|-w_hidden|-wind_hidden|-windowstyle_h|-w_h|-win_hidden", "windows.hidden", 0.6},
	{"-executionpolicy_bypass|-exec_bypass|-ep_bypass|-ex_bypass|-executionpolicy_unrestricted|-exe_bypass", "windows.policy", 0.45},
	{"lsass", "secret.dump", 0.82},
	{"minidumpwritedump|minidump_", "secret.dump", 0.9},
	{"mimikatz|sekurlsa|kerberos::|lsadump|dcsync|logonpasswords|powersploit|powersharppack|nishang|empireproject|invoke-obfuscation|sharphound|bloodhound|winpeas|cobaltstrike|metasploit|meterpreter", "code.attack_tool", 0.9},
	{"getasynckeystate|setwindowshookex", "secret.capture", 0},
	{"ntds.dit|\\config\\sam|config\\system", "secret.dump", 0.88},
	{"cpassword|unattend.xml|sysprep.inf", "secret.search", 0.8},
	{"select-string|findstr password|passw", "secret.search", 0.75},
	{"login_data|logins.json|key4.db|\\credentials\\|vaultcli|passwordvault|get-vaultcredential", "secret.read", 0.85},
	{"consolehost_history|psreadline|historysavepath|set-psreadlineoption", "log.history", 0.8},
	{"clear-history", "log.history", 0.6},
	{".lastwritetime_=|.creationtime_=|.lastaccesstime_=", "log.timestamps", 0.82},
	{"promptforcredential", "secret.capture", 0.82},
	{"dontlog|httplogging", "log.stop", 0.7},
	{"for_/f|foreach|for_%|@for net_use /user:", "priv.brute_force", 0},
	{"sethc.exe|utilman.exe|osk.exe|magnify.exe|narrator.exe|displayswitch.exe|atbroker.exe copy|takeown|image|move", "persist.windows", 0.86},
	{"clear-host;|wevtutil_cl|.clear()|clearlog|eventlogsession", "log.clear", 0.6},
	{"disablerealtimemonitoring|disablebehaviormonitoring|disableantispyware|disableioavprotection|exclusionpath|exclusionprocess|exclusionextension|disablescriptscanning|submitsamplesconsent|mapsreporting", "defense.disable", 0.9},
	{"win32_shadowcopy delete|remove", "destroy.backup", 0},
	{"__eventfilter|commandlineeventconsumer|__filtertoconsumerbinding|activescripteventconsumer", "persist.windows", 0.9},
	{"win32_process create", "windows.lolbin", 0.8},
	{"new-scheduledtaskaction|register-scheduledtask|schedule.service", "persist.task", 0.82},
	{"currentversion\\run|currentversion\\winlogon|image_file_execution_options|startup\\|\\start_menu\\programs\\startup|specialfolders(\"startup\")", "persist.windows", 0.82},
	{"keybd_event|[dllimport|loadlibrary|add-type_-typedef|add-type_-memberdef", "code.inject", 0.5},
	{"mmc20.application|shellwindows|shellbrowserwindow|getobject(|getactiveobject|gettypefromclsid|gettypefromprogid", "windows.lolbin", 0.82},
	{"wscript.shell|createobject( .run|.exec|createshortcut", "windows.lolbin", 0.75},
	{"javascript:|vbscript:", "windows.lolbin", 0.88},
	{"\\\\.\\globalroot|globalroot\\device\\harddiskvolumeshadowcopy|harddiskvolumeshadowcopy", "secret.dump", 0.88},
	{"psversion_2|-version_2|-v_2_", "defense.disable", 0.82},
	{"get-clipboard|[windows.clipboard]|clipboard]::gettext", "secret.capture", 0.5},
	{"copyfromscreen|get-screenshot", "secret.capture", 0.5},
	{"::logonuser|impersonatelogged|duplicatetoken|adjusttokenprivileges|sedebugprivilege|createprocesswithtoken", "priv.impersonate", 0.88},
	{"alternatedatastream|-stream_|:zone.identifier", "windows.stream", 0.6},
	{"foreach|1..254|1..255 test-connection|ping_-n|tcpclient", "windows.recon", 0.5},
	{"://transfer.sh|://file.io|webhook|discord.com/api|pastebin.com|api.telegram|://ngrok", "exfil.drop", 0.8},
	{"invoke-webrequest|invoke-restmethod|iwr_|irm_|webclient|uploadfile|uploadstring -method_post|-method_put|uploadfile|uploadstring|-infile|-body", "exfil.upload", 0.6},
	{"send-mailmessage", "exfil.upload", 0.7},
}

// windows judges a text as commands of cmd.exe and PowerShell.
func (a *assessor) windows(text string, at span) {
	if a.depth >= maxDepth || !a.spend(len(text)) {
		a.starve(at)
		return
	}
	if len(text) > 64<<10 {
		a.starve(at)
		text = text[:64<<10]
	}
	a.depth++
	defer func() { a.depth-- }()
	plain := plainWindows(text)
	low := lower(plain)
	if n := hiding(text); n > 0 && (isWindowsOnly(text) || strings.Contains(low, "cmd") || strings.Contains(low, "powershell")) {
		a.report("shell.obfuscated", n, at)
	}
	for _, code := range encodedCommands(low, plain) {
		a.report("shell.encoded_run", 0.85, at)
		a.windows(code, at)
	}
	squeezed := strings.Join(strings.Fields(low), "_")
	spaced := strings.Join(strings.Fields(low), " ")
	for _, s := range windowsSigns {
		if holds(s.parts, spaced, squeezed) {
			a.report(s.code, s.weight, at)
		}
	}
	for _, line := range windowsCommands(low) {
		a.windowsCommand(line, at)
	}
}

// lower is text in lower case, its places kept: strings.ToLower makes some
// characters, and every invalid byte, longer.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// holds says whether a text holds one alternative of every part. _ in a part
// stands for any white space.
func holds(parts, spaced, squeezed string) bool {
	for part := range strings.SplitSeq(parts, " ") {
		found := false
		for alternative := range strings.SplitSeq(part, "|") {
			in := spaced
			if strings.Contains(alternative, "_") {
				in = squeezed
			}
			if strings.Contains(in, alternative) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// windowsCommand judges one command, as its words.
func (a *assessor) windowsCommand(words []string, at span) {
	if a.commands--; a.commands < 0 {
		a.starve(at)
		return
	}
	for range 8 {
		if len(words) == 0 {
			return
		}
		name := strings.TrimSuffix(baseName(words[0]), ".exe")
		rest := words[1:]
		switch name {
		case "cmd", "%comspec%", "command.com":
			for len(rest) > 0 && strings.HasPrefix(rest[0], "/") {
				// /c may stand right before the command: /ccalc
				if len(rest[0]) > 2 && (rest[0][1] == 'c' || rest[0][1] == 'k') {
					rest[0] = rest[0][2:]
					break
				}
				rest = rest[1:]
			}
			if len(rest) == 1 && strings.Contains(rest[0], " ") {
				for _, line := range windowsCommands(rest[0]) {
					a.windowsCommand(line, at)
				}
				return
			}
			words = rest
			continue
		case "start", "call", "@", "&", "start-process", "saps", "if", "exist", "not", "do", "echo":
			if name == "echo" {
				return
			}
			for len(rest) > 0 && (strings.HasPrefix(rest[0], "/") || rest[0] == "" || strings.HasPrefix(rest[0], "-")) {
				rest = rest[1:]
			}
			words = rest
			continue
		case "powershell", "pwsh", "powershell_ise":
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				takes := len(rest) > 1 && !strings.HasPrefix(rest[1], "-") && !isCommandFlag(rest[0]) && valuedFlag(rest[0])
				flag := rest[0]
				rest = rest[1:]
				if takes {
					rest = rest[1:]
				}
				if isCommandFlag(flag) {
					break
				}
			}
			if len(rest) == 1 && strings.Contains(rest[0], " ") {
				for _, line := range windowsCommands(rest[0]) {
					a.windowsCommand(line, at)
				}
				return
			}
			words = rest
			continue
		case "for":
			for i, w := range rest {
				if w == "do" {
					a.windowsCommand(rest[i+1:], at)
					break
				}
			}
			return
		}
		args := make([]flow, 0, len(rest))
		for _, r := range rest {
			args = append(args, flow{text: strings.Trim(r, `"'`)})
		}
		for _, h := range windowsHabitsByName[name] {
			if h.matches(args) {
				a.report(h.code, h.weight, at)
			}
		}
		// A program with a stream behind its name, or one called by a path that
		// only a machine's shares have.
		for _, w := range words {
			if hasStream(w) {
				a.report("windows.stream", 0.8, at)
			}
			if isURL(w) {
				a.host(w, at)
			}
			if strings.Contains(w, `\`) && len(w) < 512 {
				if pl := placeOf(normalPath(w).text); pl.read >= 0.8 && pl.reads != "" {
					a.report(pl.reads, pl.read, at)
				}
			}
			if strings.HasPrefix(w, `\\`) && strings.Contains(w, ".") && (strings.HasSuffix(w, ".exe") || strings.HasSuffix(w, ".dll")) {
				a.report("windows.remote", 0.6, at)
			}
		}
		return
	}
}

// hasStream says whether a word names a stream behind a file: C:\dir\file.txt:evil.exe
func hasStream(w string) bool {
	i := strings.LastIndexByte(w, ':')
	if i < 3 || i+2 >= len(w) || strings.ContainsAny(w[i:], `\/`) || strings.HasPrefix(w, "/") || strings.HasPrefix(w, "-") || strings.Contains(w, "::") {
		return false
	}
	file := w[strings.LastIndexAny(w[:i], `\/`)+1 : i]
	rooted := w[1] == ':' || w[0] == '%' || strings.HasPrefix(w, "$env:")
	return rooted && strings.Contains(w[:i], `\`) && file != "" && !isDigits(w[i+1:]) && !strings.Contains(w, "\n")
}

func isCommandFlag(f string) bool {
	f = strings.TrimLeft(f, "-/")
	return f != "" && (strings.HasPrefix("command", f) || strings.HasPrefix("file", f))
}

func valuedFlag(f string) bool {
	f = strings.TrimLeft(f, "-/")
	for _, v := range []string{"executionpolicy", "windowstyle", "version", "inputformat", "outputformat", "encodedcommand", "psconsolefile", "ep", "exec", "configurationname", "workingdirectory"} {
		if strings.HasPrefix(v, f) && len(f) > 0 && f != "e" || v == f {
			return true
		}
	}
	return false
}

// windowsCommands cuts a text into commands and their words.
func windowsCommands(text string) [][]string {
	const most = 2000
	var out [][]string
	var line []string
	var b strings.Builder
	started := false
	word := func() {
		if started {
			line = append(line, b.String())
			b.Reset()
			started = false
		}
	}
	end := func() {
		word()
		if len(line) > 0 {
			out = append(out, line)
			line = nil
		}
	}
	var open byte
	unclosed := [256]bool{}
	for i := 0; i < len(text) && len(out) < most; i++ {
		c := text[i]
		switch {
		case open != 0:
			if c == open {
				open = 0
				continue
			}
			b.WriteByte(c)
		case (c == '"' || c == '\'') && !unclosed[c]:
			if strings.IndexByte(text[i+1:], c) < 0 {
				unclosed[c] = true
				continue
			}
			open, started = c, true
		case c == ' ' || c == '\t' || c == ',' && started && !strings.Contains(b.String(), "."):
			word()
		case c == '\n' || c == '\r' || c == '|' || c == '&' || c == ';' || c == '(' || c == ')',
			c == '{' && (i+1 == len(text) || text[i+1] <= ' '), c == '}' && i > 0 && text[i-1] <= ' ':
			end()
		default:
			b.WriteByte(c)
			started = true
		}
	}
	end()
	return out
}

// plainWindows removes what hides: carets, backticks, empty quotes, strings in
// pieces, characters by number.
func plainWindows(text string) string {
	if strings.Contains(text, "^") {
		text = strings.ReplaceAll(text, "^", "")
	}
	if strings.Contains(text, "`") {
		text = strings.NewReplacer("`\n", " ", "`r", "r", "`n", "n", "`", "").Replace(text)
	}
	text = joins.Replace(text)
	if strings.Contains(strings.ToLower(text), "[char]") {
		text = charNumbers(text)
	}
	return text
}

var joins = strings.NewReplacer("'+'", "", `"+"`, "", "' + '", "", `" + "`, "", `""`, "", "''", "", "'+ '", "", "' +'", "")

// charNumbers replaces [char]105 by i, at most many times.
func charNumbers(text string) string {
	var b strings.Builder
	low := lower(text)
	for i := 0; i < len(text); {
		if !strings.HasPrefix(low[i:min(len(low), i+6)], "[char]") {
			b.WriteByte(text[i])
			i++
			continue
		}
		j := i + 6
		for j < len(text) && (text[j] == '(' || text[j] == ' ') {
			j++
		}
		k := j
		if strings.HasPrefix(low[j:], "0x") {
			k += 2
		}
		for k < len(text) && digitOf(text[k]) < 16 && k-j < 6 && (text[k] <= '9' || k > j+1 && strings.HasPrefix(low[j:], "0x")) {
			k++
		}
		n, err := strconv.ParseInt(text[j:k], 0, 32)
		if err != nil || n < 32 || n > 126 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteByte(byte(n))
		i = k
		for i < len(text) && (text[i] == ')' || text[i] == '+' || text[i] == ' ') {
			i++
		}
	}
	return b.String()
}

// hiding weighs how much of a text only hides it.
func hiding(text string) float64 {
	marks := strings.Count(text, "^") + strings.Count(text, "`") - strings.Count(text, "`n") - strings.Count(text, "`\n") - strings.Count(text, "`r")
	low := strings.ToLower(text)
	chars := strings.Count(low, "[char]")
	substrings := strings.Count(text, ":~")
	formats := 0
	if strings.Contains(low, "\"{") && strings.Contains(low, "-f") {
		formats = 1
	}
	pieces := strings.Count(text, "'+'") + strings.Count(text, `"+"`)
	switch {
	case chars > 4 || substrings > 3 || pieces > 3 || formats > 0 && strings.Contains(low, "}{"):
		return 0.85
	case marks > 5 && len(text) < 40*marks && !strings.Contains(text, "```"):
		return 0.8
	case strings.Contains(low, "-join") && (strings.Contains(low, "[convert]") || strings.Contains(low, "[char")):
		return 0.8
	}
	return 0
}

// encodedCommands decodes what -EncodedCommand, in any of its short forms, is given.
func encodedCommands(low, plain string) []string {
	var out []string
	for i := 0; i < len(low) && len(out) < 4; {
		j := strings.IndexAny(low[i:], "-/")
		if j < 0 {
			return out
		}
		i += j + 1
		end := i
		for end < len(low) && low[end] >= 'a' && low[end] <= 'z' {
			end++
		}
		flag := low[i:end]
		if flag == "" || !(strings.HasPrefix("encodedcommand", flag) || flag == "ec" || flag == "enc") {
			continue
		}
		s := strings.TrimLeft(plain[end:], " \t\"'")
		stop := strings.IndexFunc(s, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '+' || r == '/' || r == '=')
		})
		if stop < 0 {
			stop = len(s)
		}
		i = end
		if stop < 16 {
			continue
		}
		if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s[:stop], "=")); err == nil {
			if t, ok := readable(b); ok {
				out = append(out, t)
			}
		}
	}
	return out
}
