package hazard

import (
	"slices"
	"strings"
	"testing"
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
