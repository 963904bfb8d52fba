package hazard

// handlers are the commands of which the effect depends on more than a word.
var handlers map[string]func(*invocation) flow

func init() {
	handlers = map[string]func(*invocation) flow{}
	for names, f := range map[string]func(*invocation) flow{
		"cd pushd chdir":     (*invocation).changeDir,
		"ls dir lsd exa eza": (*invocation).lists,
		"trash trash-put gio rimraf del-cli del-cli@latest rimraf@latest": (*invocation).trash,
		"chown chgrp": (*invocation).owners,
		"echo print":  (*invocation).echo,
		"printf":      (*invocation).printf,
		"cat tac less more head tail nl tee bat sponge": (*invocation).cat,
		"base64 base32 b64decode b64encode gbase64 basenc uudecode xxd rev tr openssl gpg gunzip zcat gzip bzip2 bzcat xz xzcat zstd unxz uncompress hexdump od": (*invocation).decode,
		"eval":     (*invocation).eval,
		"source .": (*invocation).source,
		"curl curlie wget fetch http https xh xhs aria2c axel lynx links w3m GET POST get post lwp-request lwp-download httpie": (*invocation).download,
		"nc ncat netcat nc.traditional nc.openbsd rcat rustcat pwncat cryptcat sbd powercat telnet socat ztcp":                  (*invocation).connect,
		"rm rmdir unlink srm": (*invocation).remove,
		"shred wipe scrub":    (*invocation).shred,
		"dd":                  (*invocation).dd,
		"cp mv install ln rsync scp sftp ftp tftp lftp rclone gcp smbclient": (*invocation).copy,
		"chmod":                        (*invocation).chmod,
		"find fd fdfind":               (*invocation).find,
		"su":                           (*invocation).su,
		"sed gsed":                     (*invocation).sed,
		"ssh":                          (*invocation).ssh,
		"trap":                         (*invocation).trap,
		"mkfifo mknod":                 (*invocation).mkfifo,
		"crontab":                      (*invocation).crontab,
		"at batch":                     (*invocation).schedule,
		"alias":                        (*invocation).alias,
		"env printenv set":             (*invocation).environment,
		"useradd adduser usermod pw":   (*invocation).account,
		"truncate":                     (*invocation).truncate,
		"grep egrep fgrep rg ag zgrep": (*invocation).grep,
		"dig nslookup host ping drill resolvectl":              (*invocation).lookup,
		"git git-push git-send-pack hub yadm":                  (*invocation).git,
		"docker podman nerdctl":                                (*invocation).container,
		"kubectl oc":                                           (*invocation).kubectl,
		"tar zip 7z cpio bsdtar gtar 7za 7zz unzip unrar unar": (*invocation).archive,
		"test [ [[ : true false":                               (*invocation).quiet,
		"getent":                                               (*invocation).getent,
		"mktemp":                                               (*invocation).makesTemporary,
		"cut":                                                  (*invocation).cuts,
		"locate plocate slocate mlocate mdfind":                (*invocation).found,
		"jq yq gojq jaq":                                       (*invocation).picks,
		"pg_dump pg_dumpall mysqldump mariadb-dump mongodump mydumper": (*invocation).dump,
		"hostname uname id whoami ifconfig lscpu w who ps last":        (*invocation).aboutHost,
		"strings":                       (*invocation).cat,
		"unset":                         (*invocation).unset,
		"shift":                         (*invocation).shift,
		"chattr":                        (*invocation).chattr,
		"touch":                         (*invocation).touch,
		"read mapfile readarray":        (*invocation).readWord,
		"cpan pip npm gem easy_install": (*invocation).packages,
		"mysql psql sqlite3 sqlcmd mariadb duckdb usql pgcli mycli litecli clickhouse-client cqlsh sqlplus": (*invocation).database,
		"visudo vipw":                     (*invocation).quiet,
		"ed ex red patch":                 (*invocation).edits,
		"apply_patch applypatch":          (*invocation).appliesPatch,
		"which type whereis where whence": (*invocation).which,
		"realpath readlink dirname basename greadlink grealpath": (*invocation).onPath,
		"pwd":                            (*invocation).tellsFolder,
		"mkdir":                          (*invocation).mkdir,
		"sshpass":                        (*invocation).sshpass,
		"hash":                           (*invocation).remembers,
		"ssh-keygen ssh-copy-id ssh-add": (*invocation).quiet,
		"gh glab tea":                    (*invocation).forge,
		"terraform tofu terragrunt":      (*invocation).plans,
	} {
		for n := range set(names) {
			handlers[n] = f
		}
	}
}

// quiet is a program that prints nothing.
func (c *invocation) quiet() flow { return flow{known: true} }
