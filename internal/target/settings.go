package target

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Where a program speaks to stands in settings of the project: database.yml, alembic.ini, deploy.yml,
// .env. Of some programs it is written down which they are (impliedFiles); any other may obey each of
// them, and what runs others may run any. Their present state belongs to what was agreed to.

// obeysNone are programs that obey no settings of the folder that they are called in.
var obeysNone = set(`rm rmdir mv cp ln dd shred wipe truncate unlink trash find fd mkdir touch chmod chown chgrp chattr install tar zip unzip
	kill pkill killall systemctl service launchctl crontab at reboot shutdown mount umount mkfs fdisk parted zfs zpool lvremove vgremove btrfs sysctl iptables nft ufw
	ssh scp sftp rsync rclone curl wget psql pg_restore mysql mariadb mysqladmin dropdb createdb dropuser redis-cli mongosh mongo sqlite3 cqlsh sqlcmd clickhouse-client
	apt apt-get dnf yum pacman zypper brew snap flatpak dpkg rpm pip pip3 pipx gem cat echo printf tee sed tail head grep export cd pushd test true false sleep`)

// onlyTheirs are those programs of impliedFiles that run no others: they obey these files and no more. Of
// npm and its kin that holds for what publishes.
var onlyTheirs = set("git go cargo twine gh aws gcloud kubectl oc helm terraform tofu docker docker-compose podman dropdb psql goreleaser firebase wrangler vercel fly flyctl")

// publishes are the words of npm and its kin, of uv and of poetry that run nothing but what package.json says.
var publishes = set("publish unpublish deprecate undeprecate dist-tag tag access owner version team org")

func set(names string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		m[name] = true
	}
	return m
}

// withoutAccount are those of onlyTheirs that speak to no cluster and no cloud.
var withoutAccount = set("git go cargo twine gh goreleaser dropdb psql")

var homeSettings = strings.Fields("~/.kube/config ~/.docker/config.json ~/.aws/config ~/.aws/credentials ~/.config/gcloud/active_config ~/.config/gcloud/configurations/config_default ~/.pg_service.conf ~/.my.cnf ~/.ssh/config ~/.config/configstore/firebase-tools.json ~/.fly/config.yml ~/.azure/azureProfile.json ~/.config/argocd/config ~/.dbt/profiles.yml ~/.pulumi/credentials.json ~/.pulumi/workspaces ~/.config/rclone/rclone.conf ~/.curlrc")

// obeys notes the settings that a program may obey or pass on to others.
func (m *Aim) obeys(base string, words []string, in func(string, use)) {
	switch {
	case onlyTheirs[base] && !withoutAccount[base]:
		m.ofHome()
		return
	case obeysNone[base], onlyTheirs[base], passesOn[base]:
		return
	case impliedFiles[base] != nil && len(words) > 0 && publishes[words[0]]:
		return
	}
	in(".", settings)
	m.ofHome()
}

// ofHome notes the user's settings that say which cluster, machine or account is spoken to.
func (m *Aim) ofHome() {
	for _, file := range homeSettings {
		m.name(file, runs)
	}
}

// Bounds of the settings of a folder that are looked at: folders one below the other, names, and files. They
// are looked at from the folder downwards, so that what lies above is looked at in any case.
const (
	maxSettingsDepth = 3
	maxSettingsNames = 4096
	maxSettings      = 512
)

// settingsOf is a digest of the settings that lie in a folder, and below it.
func settingsOf(dir string, left *int64) string {
	h, names, files := sha256.New(), 0, 0
	level := []string{""}
	for depth := 0; depth < maxSettingsDepth && len(level) > 0; depth++ {
		var below []string
		for _, in := range level {
			entries, err := os.ReadDir(filepath.Join(dir, in))
			if err != nil && in == "" {
				return unreadable
			}
			for _, e := range entries {
				name := path.Join(in, e.Name())
				if names++; names > maxSettingsNames || files >= maxSettings {
					return "sha256:" + hex.EncodeToString(h.Sum(nil))
				}
				switch {
				case e.IsDir():
					if !made[e.Name()] {
						below = append(below, name)
					}
				case isSetting(name):
					files++
					fmt.Fprintf(h, "%d %s %s\n", len(name), name, sum(filepath.Join(dir, name), left, true))
				}
			}
		}
		level = below
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// made are folders that tools fill, in which nobody writes settings.
var made = set(".git .github .gitlab .hg .svn node_modules vendor target dist build out .venv venv env __pycache__ .tox .nox .next .nuxt .cache .pytest_cache .mypy_cache .ruff_cache .idea .vscode coverage log logs tmp testdata fixtures docs")

// ordersByName are files that programs take their orders from, beside those that are called …file.
var ordersByName = set("tasks.py cdk.json eas.json app.json env.py build workspace build.zig meson.build project.json angular.json turbo.json nx.json lerna.json deno.json package.json cargo.toml pom.xml build.xml build.rs setup.py gradle-wrapper.jar flake.lock uv.lock")

// isSetting reports whether a file of a project is one of settings, by its name.
func isSetting(name string) bool {
	low := strings.ToLower(name)
	base := path.Base(low)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	switch {
	case strings.HasPrefix(base, ".env"), strings.HasSuffix(base, "rc"), strings.HasSuffix(stem, "file"), ordersByName[base]:
		return true
	case strings.Contains(base, "lock"):
		return false
	}
	switch ext {
	case ".yml", ".yaml", ".toml", ".ini", ".cfg", ".conf", ".env", ".properties", ".tfvars", ".hcl", ".nix", ".bzl", ".bazel", ".csproj", ".fsproj", ".props", ".targets", ".gradle":
		return true
	case "", ".json", ".jsonc", ".json5", ".rb", ".py", ".js", ".cjs", ".mjs", ".ts", ".php", ".exs", ".xml":
		for part := range strings.FieldsFuncSeq(path.Dir(low)+"/"+stem, func(r rune) bool { return r == '/' || r == '.' }) {
			for _, word := range [...]string{"config", "setting", "conf", "secret", "credential", "hosts", "inventory", "database", "deploy", "environment"} {
				if strings.HasPrefix(part, word) || strings.HasSuffix(part, word) || strings.HasSuffix(part, word+"s") {
					return true
				}
			}
		}
	}
	return false
}
