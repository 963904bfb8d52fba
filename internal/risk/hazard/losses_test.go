package hazard

import (
	"strconv"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestTakenAwayElsewhere: what is deleted on a device, on another machine or from branches that are here is gone as
// what rm deletes is; what only shows it, an emulator, and what goes to a remote's own names pass.
func TestTakenAwayElsewhere(t *testing.T) {
	for _, tt := range []struct{ asks, passes []string }{
		{
			[]string{"adb shell 'rm -rf /sdcard/DCIM /sdcard/Download'", "adb -s R58M123ABC shell rm -rf /sdcard/DCIM", "adb -d shell rm -r /storage/emulated/0/Pictures", `adb shell "rm -r /sdcard/*"`, "adb shell 'rm /sdcard/DCIM/*'", "adb shell find /sdcard -delete", "adb exec-out rm -rf /sdcard", "adb -e -s R58M123ABC shell rm -rf /sdcard"},
			[]string{"adb -s emulator-5554 shell rm -rf /sdcard/DCIM", "adb -e shell rm -rf /sdcard/DCIM", "ANDROID_SERIAL=emulator-5554 adb shell rm -rf /sdcard", "adb shell rm -rf /data/local/tmp/x", "adb shell rm /sdcard/s.png", "adb shell rm -rf /sdcard/Android/data/com.acme.app/files", "adb shell rm -rf /sdcard/test", "adb shell pm clear com.acme.app", "adb shell 'du -d1 /sdcard | sort'", "xcrun simctl erase all"},
		},
		{
			[]string{"rsync -av --delete public/ deploy@web1:/srv/www/", "rsync -az --delete-after -e 'ssh -p 22' public/ web1:/srv/www/", "rsync -a --del public/ rsync://h.example/www", "rsync -r --delete-excluded a/ h.example::www", "lftp -e 'mirror -R --delete public /www; quit' ftp.example.org", "lftp -c 'open ftp.example.org; mirror -Re public /www'", "rclone sync public remote:www", "unison -batch -force public public ssh://web1//srv/www", "mc mirror --remove public minio/www", "s3cmd sync --delete-removed public s3://b"},
			[]string{"rsync -avn --delete public/ deploy@web1:/srv/www/", "rsync -a --delete --dry-run public/ web1:/srv/www/", "rsync -a --delete src/ build/", "rsync -a public/ web1:/srv/www/", "rsync -a --delete web1:/srv/www/ public/", "rsync -a --delete public/ localhost:www/", "rsync -avz --delete dist/ deploy@staging:/srv/www/", "lftp -e 'mirror -R public /www; quit' ftp.example.org", "lftp -e 'mirror --delete /www public; quit' ftp.example.org", "lftp -e 'mirror -R --delete --dry-run public /www; quit' ftp.example.org", "rclone sync -n public remote:www", "rclone sync --dry-run public remote:www", "rclone copy public remote:www", "rclone sync remote:www public", "unison -batch public ssh://web1//srv/www"},
		},
		{
			[]string{"ssh web1 'find /srv/shop/uploads -type f -delete'", "ansible all -m shell -a 'find /srv/shop/uploads -delete'", "docker exec db find /var/lib/postgresql/data -delete", "kubectl exec api-1 -- find /data -delete", "ssh web1 'cd /srv/shop && rm -rf uploads'", "ssh web1 'find /srv/shop/uploads -type f -exec rm {} +'", "find /srv/shop/uploads -type f -delete"},
			[]string{"ssh web1 'find /tmp -name \"*.tmp\" -delete'", "ssh web1 'find /srv/shop/uploads -type f | head'", "ssh web1 'find /srv/shop -name \"*.pyc\" -delete'", "ssh web1 'find /srv/backups -mtime +30 -delete'", "ssh web1 'cd /srv/shop && rm -rf node_modules dist && npm ci'", "find build -type f -delete", "cd /srv/shop && rm -rf uploads"},
		},
		{
			[]string{"git fetch --prune --force --update-head-ok origin '+refs/*:refs/*'", "git fetch -f origin main:feature", "git fetch origin +main:feature", "git fetch -p origin 'refs/heads/*:refs/heads/*'", "git pull --force origin main:feature", "git config remote.origin.fetch '+refs/*:refs/*' && git remote update --prune", "git config --add remote.origin.fetch '+refs/heads/*:refs/heads/*'", "git -c remote.origin.fetch=+refs/*:refs/* fetch"},
			[]string{"git fetch --prune", "git fetch -f --tags", "git fetch origin main:main", "git fetch -f origin main:main", "git fetch origin '+refs/heads/*:refs/remotes/origin/*'", "git fetch -f origin pull/12/head:pr-12", "git fetch origin --force 'refs/tags/*:refs/tags/*'", "git config --add remote.origin.fetch '+refs/pull/*/head:refs/remotes/origin/pr/*'", "git config --get remote.origin.fetch", "git -C shop.git fetch -p origin '+refs/*:refs/*'"},
		},
	} {
		for i, list := range [][]string{tt.passes, tt.asks} {
			for _, c := range list {
				if asks := max(gravest(c, "destroy.store"), gravest(c, "destroy.work"), gravest(c, "destroy.cloud"), gravest(c, "destroy.system")) >= 0.4; asks != (i == 1) {
					t.Errorf("%s: %+v", c, assessed(c).Findings)
				}
			}
		}
	}
}

// TestAllRows: a statement that deletes or changes is one inside of another, too, and a condition that each row
// meets chooses none.
func TestAllRows(t *testing.T) {
	for _, q := range []string{
		"WITH gone AS (DELETE FROM orders WHERE customer_id IS NULL RETURNING id) SELECT count(*) FROM gone", "with x as (update orders set a = 1 returning id) insert into b select * from x", "with a as (select 1), gone as (delete from orders returning id) select * from gone",
		"update customers set email = 'x' where id is not null", "delete from customers where id > 0", "delete from customers c where c.id >= 0", "delete from t where t.id <> 0", "delete from t where id = id", "delete from t where true", "delete from t where 1=1", "delete from t where (id is not null)", "update t set a = 1 where name like '%'", "delete from t where id != 0 returning id",
	} {
		if a := Assess("postgres_query", leavesOf(t, `{"sql": `+strconv.Quote(q)+`}`)); !a.has("sql.destroy", 0.4) {
			t.Errorf("%s: %+v", q, a.Findings)
		}
	}
	for _, q := range []string{
		"DELETE FROM orders WHERE customer_id IS NULL", "WITH moved AS (DELETE FROM a WHERE x < 5 RETURNING *) INSERT INTO b SELECT * FROM moved", "with x as (update orders set a = 1 where id = 4 returning id) insert into b select * from x", "with x as (select id from t for update) select * from x",
		"delete from sessions where expired_at is not null", "delete from sessions where id > 100", "delete from t where id > 0 and name = 'x'", "update t set a = 1 where id = 5", "update t set a = 1 where name like 'x%'", "select * from t where id is not null", "insert into t select 1 where true",
	} {
		if a := Assess("postgres_query", leavesOf(t, `{"sql": `+strconv.Quote(q)+`}`)); a.has("sql.destroy", 0.4) {
			t.Errorf("is asked: %s: %+v", q, a.Findings)
		}
	}
}

// TestChangedWhereTheyLie: several files that somebody keeps at home, changed by a program that writes over them, are
// as gone as if they had been removed; in the folder that is worked in, and of one file, that is daily work.
func TestChangedWhereTheyLie(t *testing.T) {
	asks := func(c string) bool {
		for _, f := range Read(&act.Action{Canonical: "bash", Folder: "/home/u/src/app", Content: []act.Leaf{leafOf("command", c)}}).Assess(Default()).Findings {
			if strings.HasPrefix(f.Code, "destroy.") && f.Code != "destroy.tree" && f.Weight >= 0.4 {
				return true
			}
		}
		return false
	}
	for _, c := range []string{
		"mogrify -resize '16x16!' ~/Pictures/2025/*.jpg", "magick mogrify -quality 5 ~/Pictures/*.jpg", "exiftool -overwrite_original -all= -r ~/Pictures", "for f in ~/Pictures/2025/*.jpg; do ffmpeg -y -i \"$f\" -vf scale=16:16 /tmp/t.jpg && mv /tmp/t.jpg \"$f\"; done", "for f in ~/Documents/*; do openssl enc -in \"$f\" -out /tmp/x && mv /tmp/x \"$f\"; done",
		"sed -i '1,$d' ~/Documents/*.md", "sed -i 's/a/b/' ~/Documents/*.md", "sed -i.bak d ~/Documents/notes.md", "perl -i -ne '' ~/Documents/*", "perl -i -ne '' ~/Documents/notes.md", "perl -pi -e 's/a/b/' ~/notes/*.txt", "ruby -i -pe '$_=1' ~/Documents/*.txt", "awk -i inplace '{print $1}' ~/Documents/*.csv", "vim -es -c '%d' -c 'wq' ~/Documents/notes.md",
		"find ~ -name '*.md' -exec perl -i -ne '' {} +", "find ~/Documents -name '*.md' -exec sed -i 's/a/b/' {} +", "rename -f 's/.*/n.md/' ~/Documents/*", "dos2unix ~/Documents/*.txt", "fallocate -p -o 0 -l 10G ~/Documents/thesis.odt", "cd ~/Documents && sed -i 's/x/y/' *.md", "ccrypt -e ~/Documents/*",
	} {
		if !asks(c) {
			t.Errorf("%s passes", c)
		}
	}
	for _, c := range []string{
		"mogrify -resize 50% assets/*.jpg", "sed -i 's/a/b/' src/*.py", "sed -i 's/a/b/' ~/src/app/src/*.py", "find . -name '*.py' -exec sed -i 's/a/b/' {} +", "sed -i 's/a/b/' ~/Documents/notes.md", "perl -pi -e 's/a/b/' ~/Documents/notes.md", "for f in src/*.js; do sed 's/a/b/' \"$f\" > /tmp/x && mv /tmp/x \"$f\"; done",
		"for f in ~/Downloads/*.zip; do unzip -p \"$f\" > \"${f%.zip}.txt\"; done", "exiftool ~/Pictures/*.jpg", "identify ~/Pictures/*.jpg", "fallocate -l 1G disk.img", "gofmt -w .", "black src", "sed -n 1,5p ~/Documents/*.md", "cp ~/Pictures/*.jpg assets/", "ssh web1 'sed -i s/a/b/ conf/*.ini'", "dos2unix scripts/*.sh",
	} {
		if asks(c) {
			t.Errorf("%s is asked about", c)
		}
	}
}
