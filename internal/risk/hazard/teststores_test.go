package hazard

import (
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestStoresOfTests: tests empty the store that they are given, migrations change a project's database, and
// models say what goes with a row; whatever names another store, or runs by itself, is as grave as it was.
func TestStoresOfTests(t *testing.T) {
	const fixture = "import pytest\nfrom app.db import Base, engine\n@pytest.fixture\ndef db():\n    yield\n    "
	for _, tt := range []struct {
		file, text string
		loses      bool
	}{
		{"conftest.py", fixture + "Base.metadata.drop_all(engine)\n", false}, {"conftest.py", fixture + "db.drop_all()\n", false}, {"conftest.py", fixture + "cur.execute('DROP TABLE IF EXISTS users')\n", false}, {"conftest.py", fixture + "User.objects.all().delete()\n", false},
		{"conftest.py", fixture + "conn.execute(text('TRUNCATE users'))\n", false}, {"test_products.py", "def test_a(db):\n    db.drop_all()\n", false}, {"post_test.rb", "class PostTest\n  setup { Post.delete_all }\nend\n", false}, {"rails_helper.rb", "RSpec.configure { |c| c.after { ActiveRecord::Base.connection.execute('TRUNCATE posts') } }\n", false},
		{"post.rb", "class Post < ApplicationRecord\n  has_many :comments, dependent: :delete_all\n  has_many :tags, :dependent => :destroy_all\nend\n", false},
		{"20260101000000_drop_x.rb", "class DropX < ActiveRecord::Migration[7.1]\n  def change\n    drop_table :old_posts\n  end\nend\n", false},

		{"conftest.py", fixture + "cur.execute('DROP TABLE users')\n", true}, {"conftest.py", fixture + "cur.execute('DROP DATABASE shop')\n", true}, {"conftest.py", "engine = create_engine(PROD_URL)\n" + fixture + "Base.metadata.drop_all(engine)\n", true},
		{"conftest.py", "engine = create_engine('postgresql://u@db.acme.dev/shop')\n" + fixture + "Base.metadata.drop_all(engine)\n", true}, {"conftest.py", "import shutil, os\nshutil.rmtree(os.path.expanduser('~'))\n", true}, {"wipe.py", "from app import db\ndb.drop_all()\n", true},
		{"post.rb", "class Post < ApplicationRecord\n  def wipe = Post.delete_all\nend\n", true}, {"x.rb", "Post.send(:delete_all)\n", true}, {"x.rb", "dependent: :destroy\nPost.delete_all\n", true}, {"x.rb", "# class X < ActiveRecord::Migration\nconnection.drop_table(:users)\n", true},
		{"x.rb", "class DropX < ActiveRecord::Migration[7.1]\n  def change\n    Other.connection.drop_table :users\n  end\nend\n", true}, {"x.rb", "drop_table :users\n", true}, {"production_test.rb", "Post.delete_all\nURL = 'https://prod.acme.dev'\n", true},
	} {
		does, _ := Default().RunsFile(tt.file, tt.text, nil)
		got := slices.ContainsFunc(does, func(f Finding) bool { return strings.HasPrefix(f.Code, "destroy.") || f.Code == "sql.destroy" })
		if got != tt.loses {
			t.Errorf("%s %q: %v", tt.file, tt.text, does)
		}
	}
	for command, want := range map[string]bool{
		"bin/rails test": true, "bin/rails s": true, "bin/rails runner 'x'": true, "bin/rails": true, "bundle exec rspec": true, "rake db:migrate": true, "rake -T x db:drop": true, "rake routes db:drop": true, "rake routes $X": true,
		"bin/rails routes -c users": false, "bin/rails db:migrate:status": false, "rake -T": false, "bundle exec rubocop -A app": false, "rake routes": false,
	} {
		words := strings.Fields(command)
		does := assessed(strings.Join(words, " "))
		if got := slices.Contains(does.Ran, "*.rb"); got != want {
			t.Errorf("%s runs %q", command, does.Ran)
		}
	}
}

// TestOwnStores: a database that begins with the call, tables that are made again out of files, keys of a cache of
// this machine, and a cluster of it to which the file leads that is named, are one's own to empty.
func TestOwnStores(t *testing.T) {
	for _, tt := range []struct {
		passes, asks []string
	}{
		{
			[]string{"sqlite3 new.db 'drop table if exists hours'", "sqlite3 new.db 'delete from hours'", "sqlite3 data/new.db < /dev/null", "duckdb new.db 'drop table hours'"},
			[]string{"sqlite3 old.db 'drop table hours'", "sqlite3 new.db \"attach 'old.db' as o; drop table o.hours\"", "ln -s old.db new.db; sqlite3 new.db 'drop table hours'", "cp old.db new.db; mv old.db x.db; sqlite3 x.db 'drop table hours'", "sqlite3 new.db '.open old.db' 'drop table hours'", "ssh h sqlite3 new.db 'drop table hours'"},
		},
		{
			[]string{"sqlite3 old.db <<E\ndrop table if exists hours;\n.mode csv\n.import hours.csv hours\ndelete from hours where n = '';\nselect 1;\nE", "sqlite3 old.db 'drop table if exists t; create table t as select * from u'"},
			[]string{"sqlite3 old.db <<E\ndrop table if exists hours;\ndrop table users;\n.import hours.csv hours\nE", "sqlite3 old.db 'drop table users; create table users (id int)'", "sqlite3 prod.db 'drop table if exists t; create table t as select 1'", "sqlite3 old.db <<E\ndrop table hours;\n.open other.db\n.import hours.csv hours\nE", "sqlite3 old.db <<E\ndrop table hours;\n.import hours.csv hours\ndelete from users;\nE"},
		},
		{
			[]string{"redis-cli --scan --pattern 'x:*' | xargs -r redis-cli del", "redis-cli -p 6380 --scan --pattern 'x:*' | xargs redis-cli -p 6380 unlink"},
			[]string{"redis-cli -h cache.acme.dev --scan --pattern 'x:*' | xargs redis-cli -h cache.acme.dev del", "ssh web \"redis-cli --scan --pattern 'x:*' | xargs redis-cli del\"", "redis-cli flushall", "REDIS_URL=redis://cache redis-cli --scan | xargs redis-cli del"},
		},
		{
			[]string{"KUBECONFIG=.kubeconfig kubectl delete pvc --all -n e2e", "KUBECONFIG=$PWD/.kubeconfig kubectl delete ns e2e", "export KUBECONFIG=\"$(pwd)/.kubeconfig\"; kubectl delete ns e2e", "kubectl --kubeconfig .kubeconfig delete ns e2e", "helm --kubeconfig=/w/app/.kubeconfig uninstall web"},
			[]string{"KUBECONFIG=other kubectl delete ns e2e", "KUBECONFIG=.kubeconfig:other kubectl delete ns e2e", "KUBECONFIG=.kubeconfig kubectl --kubeconfig other delete ns e2e", "KUBECONFIG=.kubeconfig kubectl --context shop delete ns e2e", "cp other .kubeconfig; KUBECONFIG=.kubeconfig kubectl delete ns e2e", "cd .. && KUBECONFIG=.kubeconfig kubectl delete ns e2e", "KUBECONFIG=.kubeconfig kubectl -s https://k8s.acme.dev delete ns e2e", "kubectl delete ns e2e", "ssh h KUBECONFIG=.kubeconfig kubectl delete ns e2e"},
		},
		{
			[]string{"molecule destroy", "kitchen destroy all", "git filter-repo --analyze", "git-filter-repo --analyze"},
			[]string{"terraform destroy", "git filter-repo --path a --invert-paths"},
		},
	} {
		for i, list := range [][]string{tt.passes, tt.asks} {
			for _, line := range list {
				a := Read(&act.Action{
					Canonical: "bash", Folder: "/w/app", Content: []act.Leaf{leafOf("command", line)},
					Missing:     func(file string) bool { return strings.Contains(file, "new.db") },
					Kubeconfigs: []act.Kubeconfig{{File: "/w/app/.kubeconfig", Context: "kind-e2e"}},
				}).Assess(Default())
				asks := slices.ContainsFunc(a.Findings, func(f Finding) bool {
					return f.Weight >= 0.4 && (strings.HasPrefix(f.Code, "destroy.") || strings.HasPrefix(f.Code, "sql.") || strings.HasPrefix(f.Code, "publish."))
				})
				if asks != (i == 1) {
					t.Errorf("%s: %+v", line, a.Findings)
				}
			}
		}
	}
}
