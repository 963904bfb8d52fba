package hazard

// threat is what a kind of finding means: the OWASP Agentic (ASI) category, the
// MITRE ATT&CK technique, the usual weight, and the sentence.
//
// Weights: 0.9 and more is hardly ever anything but an attack; 0.8 to 0.9 is what
// an agent should not do unasked; 0.4 to 0.7 is administration that attackers do
// too; below that, it is noted.
type threat struct {
	category, technique string
	weight              float64
	message             string
}

var threats = map[string]threat{
	// Code that comes from elsewhere, or hides.
	"shell.reverse_shell":    {"ASI05", "T1059", 0.97, "The command hands control of a shell to somebody on the network."},
	"shell.bind_shell":       {"ASI05", "T1059", 0.97, "The command opens a shell to anybody who connects."},
	"shell.download_run":     {"ASI04", "T1105", 0.9, "The command downloads code and runs it unseen."},
	"shell.encoded_run":      {"ASI05", "T1027", 0.88, "The command decodes hidden code and runs it."},
	"shell.dynamic_run":      {"ASI05", "T1059", 0.35, "The command runs text that only comes to be while it runs."},
	"shell.staged_run":       {"ASI05", "T1059.004", 0.6, "The command writes a script to a temporary place and runs it."},
	"shell.escape":           {"ASI05", "T1059", 0.82, "A program that is no shell is used to start one."},
	"shell.socket":           {"ASI05", "T1095", 0.45, "The shell itself opens a network connection."},
	"shell.listener":         {"ASI05", "T1571", 0.5, "The command waits for connections."},
	"shell.obfuscated":       {"ASI05", "T1027", 0.7, "The command is written so that readers do not see what it does."},
	"shell.hidden_place":     {"ASI05", "T1564.001", 0.55, "The command runs or keeps a program where nobody looks."},
	"shell.fork_bomb":        {"ASI08", "T1499", 0.95, "The command multiplies itself until the machine stops."},
	"shell.web_shell":        {"ASI05", "T1505.003", 0.9, "The text is a page that runs what its visitors send."},
	"command.not_understood": {"ASI02", "T1027", 0.85, "What would be run is larger, deeper or odder than can be read, so nobody can say what it does."},
	"text.bounds":            {"ASI02", "T1027", 0.6, "The text is larger or deeper than can be judged."},
	"text.unreadable":        {"ASI02", "T1027", 0.3, "The command cannot be parsed."},
	"code.process":           {"ASI05", "T1059", 0.2, "The code runs other programs."},
	"code.inject":            {"ASI05", "T1055", 0.85, "The code or command tampers with another process."},
	"code.library_hijack":    {"ASI05", "T1574.006", 0.85, "A library is put in front of those that programs load."},
	"code.kernel_module":     {"ASI05", "T1547.006", 0.8, "The command loads code into the kernel."},
	"code.attack_tool":       {"ASI05", "T1588.002", 0.8, "The command uses a tool made for attacks."},
	"code.miner":             {"ASI10", "T1496", 0.9, "The command mines for somebody else."},
	"code.container_escape":  {"ASI03", "T1611", 0.85, "The command leaves its container or gives one the host."},

	// Rights.
	"priv.sudo":           {"ASI03", "T1548.003", 0.15, "The command asks for the rights of an administrator."},
	"priv.setuid":         {"ASI03", "T1548.001", 0.82, "A file is given rights beyond those of who runs it."},
	"priv.search_setuid":  {"ASI03", "T1548.001", 0.6, "The command looks for files with rights to abuse."},
	"priv.sudoers":        {"ASI03", "T1548.003", 0.88, "The rules of who may become administrator are changed."},
	"priv.account":        {"ASI03", "T1136.001", 0.6, "An account is made or changed."},
	"priv.admin_account":  {"ASI03", "T1098", 0.85, "An account is given the rights of an administrator."},
	"priv.password":       {"ASI03", "T1098", 0.8, "A password is set from the command line."},
	"priv.authentication": {"ASI03", "T1556", 0.88, "The way people prove who they are is changed."},
	"priv.shell":          {"ASI03", "T1548", 0.45, "The command becomes administrator and stays it."},
	"priv.open_mode":      {"ASI03", "T1222", 0.45, "Everybody may change the file."},
	"priv.impersonate":    {"ASI03", "T1134", 0.85, "Rights of another account or process are taken."},
	"priv.brute_force":    {"ASI03", "T1110", 0.82, "Passwords are tried out."},

	// What stays.
	"persist.write":      {"ASI10", "T1543", 0.82, "Something is put where it runs by itself later."},
	"persist.cron":       {"ASI10", "T1053.003", 0.8, "A job is scheduled."},
	"persist.key":        {"ASI10", "T1098.004", 0.85, "A key is added with which somebody can log in."},
	"persist.startup":    {"ASI10", "T1546.004", 0.8, "What every new shell runs is changed."},
	"persist.profile":    {"ASI10", "T1546.004", 0.45, "A setting is added to what every new shell reads."},
	"persist.trap":       {"ASI10", "T1546.005", 0.8, "A program is started when the shell is interrupted or ends."},
	"persist.hook":       {"ASI10", "T1546", 0.6, "A program is started when something else happens."},
	"persist.windows":    {"ASI10", "T1547.001", 0.85, "Something is put where Windows runs it by itself."},
	"persist.task":       {"ASI10", "T1053.005", 0.8, "A task is scheduled in Windows."},
	"persist.service":    {"ASI10", "T1543.003", 0.8, "A service is made or changed."},
	"agent.instructions": {"ASI06", "", 0.5, "Standing orders of an agent are changed."},

	// Secrets.
	"secret.read":     {"ASI03", "T1552.001", 0.85, "Passwords or keys are read."},
	"secret.accounts": {"ASI03", "T1003.008", 0.35, "The list of accounts is read."},
	"secret.history":  {"ASI03", "T1552.003", 0.8, "The history of what somebody typed is read."},
	"secret.search":   {"ASI03", "T1552.001", 0.82, "The command looks for passwords or keys."},
	"secret.memory":   {"ASI03", "T1003.007", 0.85, "The memory of a process is read."},
	"secret.metadata": {"ASI03", "T1552.005", 0.9, "Credentials of the machine are asked from the cloud's metadata service."},
	"secret.capture":  {"ASI03", "T1056", 0.85, "What somebody types is recorded."},
	"secret.dump":     {"ASI03", "T1003", 0.92, "Stored credentials are dumped."},
	"secret.sniff":    {"ASI03", "T1040", 0.5, "Network traffic is recorded."},
	"secret.content":  {"ASI03", "T1552.001", 0.3, "The text holds a secret."},

	// What leaves.
	"exfil.secret": {"ASI02", "T1041", 0.95, "A secret is sent to a host."},
	"exfil.upload": {"ASI02", "T1048", 0.4, "A file is sent to a host."},
	"exfil.drop":   {"ASI02", "T1567", 0.82, "Data is sent to a place where strangers leave and collect it."},
	"exfil.bulk":   {"ASI02", "T1048", 0.8, "A whole directory of the system is sent to another host."},
	"exfil.dns":    {"ASI02", "T1048.003", 0.85, "Data is sent inside names that are looked up."},

	// Traces and defences.
	"log.clear":         {"ASI10", "T1070.002", 0.85, "Logs are destroyed."},
	"log.history":       {"ASI10", "T1070.003", 0.82, "The history of commands is erased or kept from being written."},
	"log.stop":          {"ASI10", "T1562.012", 0.85, "The recording of what happens is switched off."},
	"log.timestamps":    {"ASI10", "T1070.006", 0.8, "The times of a file are forged."},
	"defense.disable":   {"ASI10", "T1562.001", 0.85, "A protection is switched off."},
	"defense.firewall":  {"ASI10", "T1562.004", 0.82, "The firewall is opened or switched off."},
	"defense.trust":     {"ASI04", "T1553.004", 0.6, "The machine is made to trust another authority."},
	"defense.immutable": {"ASI10", "T1222.002", 0.55, "A file's protection against change is altered."},

	// Destruction.
	"destroy.system":  {"ASI02", "T1485", 0.97, "The system's or everybody's files are deleted."},
	"destroy.tree":    {"ASI02", "T1485", 0.3, "A directory is deleted with all that is in it."},
	"destroy.disk":    {"ASI02", "T1561", 0.9, "A disk is overwritten."},
	"destroy.format":  {"ASI02", "T1561", 0.6, "A disk is formatted or written to."},
	"destroy.wipe":    {"ASI02", "T1485", 0.45, "A file is destroyed beyond recovery."},
	"destroy.backup":  {"ASI02", "T1490", 0.9, "Means of recovery are destroyed."},
	"destroy.halt":    {"ASI08", "T1529", 0.45, "The machine is stopped."},
	"destroy.crash":   {"ASI08", "T1499", 0.85, "The machine is crashed."},
	"destroy.config":  {"ASI02", "T1565.001", 0.75, "A file that the system depends on is overwritten."},
	"destroy.cloud":   {"ASI02", "T1485", 0.6, "Resources in a cloud or cluster are destroyed."},
	"destroy.encrypt": {"ASI02", "T1486", 0.8, "Files of the system are encrypted."},

	// Paths, hosts, SQL.
	"path.traversal":  {"ASI02", "T1083", 0.85, "The path climbs out of where it belongs."},
	"path.climb":      {"ASI02", "", 0.2, "The path climbs out of its directory."},
	"path.encoded":    {"ASI02", "T1027", 0.85, "The path hides its dots or slashes."},
	"path.sensitive":  {"ASI02", "T1005", 0.5, "The path is a sensitive part of the system."},
	"path.device":     {"ASI02", "T1006", 0.6, "The path is a device."},
	"url.metadata":    {"ASI03", "T1552.005", 0.92, "The address is a cloud's metadata service."},
	"url.private":     {"ASI02", "T1090", 0.4, "The address is inside a private network."},
	"url.loopback":    {"ASI02", "T1090", 0.3, "The address is this machine itself."},
	"url.disguised":   {"ASI02", "T1027", 0.85, "The address is written so that it does not look like what it is."},
	"url.scheme":      {"ASI02", "T1190", 0.82, "The scheme reaches more than web pages."},
	"url.user":        {"ASI02", "T1552", 0.4, "The address holds a password or hides its host behind a name."},
	"sql.injection":   {"ASI02", "T1190", 0.88, "The value ends a query and begins another."},
	"sql.stacked":     {"ASI02", "T1190", 0.85, "A second statement hides behind the first."},
	"sql.delay":       {"ASI02", "T1190", 0.85, "The query waits, to tell by time what it may not see."},
	"sql.execute":     {"ASI05", "T1505.001", 0.92, "The query runs programs on the database's machine."},
	"sql.file":        {"ASI02", "T1005", 0.82, "The query reads or writes files of the database's machine."},
	"sql.destroy":     {"ASI02", "T1485", 0.7, "The query destroys tables or all their rows."},
	"sql.grant":       {"ASI03", "T1098", 0.6, "The query gives rights."},
	"sql.credentials": {"ASI03", "T1555", 0.6, "The query reads stored credentials."},
	"sql.schema":      {"ASI02", "T1083", 0.25, "The query reads what tables there are."},

	// Windows.
	"windows.lolbin":   {"ASI05", "T1218", 0.82, "A program of Windows is used to run what its name does not say."},
	"windows.download": {"ASI04", "T1105", 0.6, "A file is downloaded by unusual means."},
	"windows.recon":    {"ASI02", "T1087", 0.3, "The command looks around in the domain or machine."},
	"windows.hidden":   {"ASI05", "T1564.003", 0.45, "A program is started where nobody sees it."},
	"windows.policy":   {"ASI10", "T1562.001", 0.35, "PowerShell is told to ignore its policy."},
	"windows.registry": {"ASI02", "T1112", 0.4, "The registry is changed."},
	"windows.remote":   {"ASI03", "T1021", 0.5, "A command is run on another machine."},
	"windows.stream":   {"ASI05", "T1564.004", 0.75, "A file is hidden behind another file."},
	"windows.uac":      {"ASI03", "T1548.002", 0.88, "The question for an administrator's consent is avoided."},
}
