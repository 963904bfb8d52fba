package guard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestOwnStores: what is emptied that the project's own files say is on this machine passes; where they
// name another machine, production, or cannot be read, where the call says something else, or where the
// session wrote them itself, people are asked.
func TestOwnStores(t *testing.T) {
	n, dir := codingAgents(t)
	const (
		local     = "DATABASE_URL=postgres://app:app@localhost:5432/app\nexport DEV_DATABASE_URL='postgres://app@127.0.0.1/app'\nSECRET_KEY_BASE=x\n"
		parts     = "DB_USER=app\nDB_HOST=localhost # of this machine\nDB_NAME=app\nDATABASE_URL=\"postgres://${DB_USER}@${DB_HOST}:5432/${DB_NAME}\"\n"
		service   = "DATABASE_URL=postgres://app:app@db:5432/app\n"
		compose   = "services:\n  db:\n    image: postgres:16\n    volumes:\n      - data:/var/lib/postgresql/data\n  web:\n    build: .\nvolumes:\n  data:\n"
		told      = "services:\n  web:\n    build: .\n    environment: {DATABASE_URL: \"postgres://app:app@db/app\", LOG: x}\n  db:\n    image: postgres:16\n"
		byFile    = "services:\n  web:\n    build: .\n    env_file: .env.dev\n  worker:\n    build: .\n    env_file: [.env.dev]\n  db:\n    image: postgres:16\n"
		byAddress = "development:\n  url: <%= ENV['DATABASE_URL'] %>\n"
		rails     = "default: &default\n  adapter: postgresql\n  pool: <%= ENV.fetch(\"RAILS_MAX_THREADS\") { 5 } %>\n  host: <%= ENV.fetch(\"DB_HOST\", \"localhost\") %>\n\ndevelopment:\n  <<: *default\n  database: app_dev\n\nproduction:\n  <<: *default\n  url: <%= ENV[\"DATABASE_URL\"] %>\n"
		django    = "DATABASES = {\n    'default': {\n        'ENGINE': 'django.db.backends.postgresql',\n        'NAME': os.environ.get('DB_NAME', 'app'),\n        'HOST': os.environ.get('DB_HOST', 'localhost'),\n    }\n}\n"
		manage    = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
		spring    = "spring:\n  datasource: {url: \"jdbc:postgresql://localhost:5432/app\", username: app}\n"
		dotnet    = `{"ConnectionStrings":{"Default":"Server=localhost,1433;Database=Portal;User Id=sa"}}`
		prisma    = "datasource db {\n  provider = \"postgresql\"\n  url      = env(\"DATABASE_URL\")\n}\n"
	)
	type files map[string]string
	env := files{".env": local}
	for i, tt := range []struct {
		command string
		files   files
		passes  bool
	}{
		{"bin/rails db:reset", env, true},
		{"bundle exec rails db:drop db:create db:migrate", env, true},
		{"bin/rails db:reset", files{"config/database.yml": rails}, true},
		{"bin/rails db:reset", files{"config/database.yml": rails, ".env": parts}, true},
		{"npx prisma migrate reset --force", env, true},
		{"npx prisma migrate reset", files{".env": local, "prisma/schema.prisma": prisma}, true},
		{"npx prisma migrate reset", files{".env": service, "docker-compose.yml": compose}, true},
		{"pnpm prisma db push --force-reset", env, true},
		{"sqlx database reset -y", env, true},
		{"python manage.py flush --no-input", files{"manage.py": manage, "shop/settings.py": django}, true},
		{"python manage.py flush --no-input", files{"manage.py": manage, "shop/settings.py": "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': BASE_DIR / 'db.sqlite3'}}\n"}, true},
		{"php artisan migrate:reset", files{".env": "DB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_DATABASE=app\n"}, true},
		{"mix ecto.reset", files{"config/dev.exs": "config :app, App.Repo,\n  username: \"postgres\",\n  hostname: \"localhost\",\n  database: \"app_dev\"\n"}, true},
		{"cd api && bin/rails db:reset", files{"api/.env": local}, true},
		{"cd my-api && bin/rails db:reset", files{"my-api/.env": local}, true},
		{"source .env && psql \"$DATABASE_URL\" -c 'TRUNCATE users'", env, true},
		{"psql \"$DEV_DATABASE_URL\" -c 'TRUNCATE users CASCADE'", env, true},
		{"psql \"${DATABASE_URL}\" -c 'DROP TABLE users'", env, true},
		{"psql -h localhost app -c 'DROP TABLE users'", env, true},
		{"psql postgres://app:app@localhost:5432/app -c 'TRUNCATE users'", env, true},
		{"mysql -h 127.0.0.1 -u root app -e 'TRUNCATE users'", files{".env": "DB_HOST=127.0.0.1\nDB_DATABASE=app\n"}, true},
		{"docker compose exec db psql -U app -c 'TRUNCATE users'", files{"docker-compose.yml": compose}, true},
		{"docker compose exec -T db mysql -uroot -papp app -e 'DROP TABLE users'", files{"docker-compose.yml": compose}, true},
		{"docker exec NAME-db-1 psql -U app -c 'TRUNCATE users'", files{"docker-compose.yml": compose}, true},
		{"docker exec -i shop-db psql -U app -c 'TRUNCATE users'", files{"docker-compose.yml": "services:\n  db:\n    container_name: shop-db\n"}, true},
		{"docker compose down && docker volume rm NAME_data", files{"docker-compose.yml": compose}, true},
		{"docker rm -v NAME-web-1", files{"docker-compose.yml": compose}, true},
		{"./mvnw flyway:clean flyway:migrate -Dflyway.cleanDisabled=false -Dflyway.url=jdbc:postgresql://localhost:5432/app -Dflyway.user=app", files{"src/main/resources/application.yml": spring}, true},
		{"flyway -url=jdbc:postgresql://localhost:5432/app clean", files{"src/main/resources/application.yml": spring}, true},
		{"psql -h localhost -U app -d app -c 'TRUNCATE users'", files{"src/main/resources/application.yml": spring}, true},
		{"sqlcmd -C -S localhost -U sa -Q \"DROP DATABASE Portal\"", files{"appsettings.Development.json": dotnet}, false}, // of which nothing but a query speaks
		{"sqlcmd -S localhost -d Portal -Q \"DROP TABLE Old\"", files{"appsettings.Development.json": dotnet}, true},
		{"docker compose exec kafka kafka-topics.sh --bootstrap-server localhost:9092 --delete --topic orders", files{"compose.yaml": "services:\n  kafka:\n    image: apache/kafka:3\n"}, true},
		{"docker compose exec broker kafka-topics --bootstrap-server broker:9092 --delete --topic orders", files{"compose.yaml": "services:\n  broker:\n    image: confluentinc/cp-kafka:7\n"}, true},
		{"docker compose exec mssql /opt/mssql-tools18/bin/sqlcmd -C -S localhost -U sa -Q 'DROP DATABASE Portal'", files{"compose.yaml": "services:\n  mssql:\n    image: mssql:1\n"}, true},
		{"docker compose exec -T web bin/rails db:drop db:create db:schema:load db:seed", files{"compose.yaml": told, "config/database.yml": byAddress}, true},
		{"docker compose exec web bundle exec rails db:reset", files{"compose.yaml": told, "config/database.yml": byAddress}, true},
		{"docker compose exec -T web python manage.py flush --no-input", files{"compose.yaml": byFile, ".env.dev": service, "manage.py": manage, "shop/settings.py": "DATABASES = {'default': env.db()}\n"}, true},
		{"docker compose exec -T web python manage.py migrate orders zero", files{"compose.yaml": byFile, ".env.dev": service, "manage.py": manage, "shop/settings.py": django, ".env": "DB_HOST=db\n"}, true},
		{"docker compose exec -T worker celery -A shop purge -f", files{"compose.yaml": byFile, ".env.dev": "CELERY_BROKER_URL=redis://db:6379/0\n"}, true},

		{"docker compose exec -T web bin/rails db:reset", files{"compose.yaml": strings.ReplaceAll(told, "@db/", "@db.acme.example/"), "config/database.yml": byAddress}, false},
		{"docker compose exec -T -e DATABASE_URL=postgres://x web bin/rails db:reset", files{"compose.yaml": told, "config/database.yml": byAddress}, false},
		{"docker compose exec -T --env=DATABASE_URL=postgres://x web bin/rails db:reset", files{"compose.yaml": told, "config/database.yml": byAddress}, false},
		{"docker compose exec -T -e RAILS_ENV=production web bin/rails db:reset", files{"compose.yaml": told, "config/database.yml": byAddress}, false},
		{"docker compose exec -T web bin/rails db:reset RAILS_ENV=production", files{"compose.yaml": told, "config/database.yml": byAddress}, false},
		{"docker compose -p other exec -T web bin/rails db:reset", files{"compose.yaml": told, "config/database.yml": byAddress}, false},
		{"docker compose exec -T web python manage.py flush --no-input", files{"compose.yaml": byFile, ".env.dev": "DATABASE_URL=postgres://app@db.acme.example/app\n", "manage.py": manage, "shop/settings.py": "DATABASES = {'default': env.db()}\n"}, false},
		{"docker compose exec -T worker celery -A shop purge -f", files{"compose.yaml": byFile, ".env.dev": "CELERY_BROKER_URL=redis://queue.acme.example:6379/0\n"}, false},
		{"./mvnw flyway:clean -Dflyway.url=jdbc:postgresql://db.acme.example:5432/app", files{"src/main/resources/application.yml": spring}, false},
		{"./mvnw flyway:clean -Dflyway.url=jdbc:postgresql://localhost:5432/other", files{"src/main/resources/application.yml": spring}, false},
		{"./mvnw flyway:clean -Plive -Dflyway.url=jdbc:postgresql://localhost:5432/app", files{"src/main/resources/application.yml": spring}, false},
		{"./mvnw flyway:clean -Dflyway.configFiles=x -Dflyway.url=jdbc:postgresql://localhost:5432/app", files{"src/main/resources/application.yml": spring}, false},
		{"./mvnw flyway:clean -Dflyway.url=jdbc:postgresql://localhost:5432/app", files{"src/main/resources/application.yml": spring + "live: jdbc:postgresql://db.acme.example/app\n"}, false},
		{"./mvnw flyway:clean", files{"src/main/resources/application.yml": spring}, false}, // which its plugin's settings name
		{"sqlcmd -S db.acme.example -d Portal -Q \"DROP TABLE Old\"", files{"appsettings.Development.json": dotnet}, false},
		{"docker compose exec kafka kafka-topics.sh --bootstrap-server kafka.acme.example:9092 --delete --topic orders", files{"compose.yaml": "services:\n  kafka:\n    image: apache/kafka:3\n"}, false},
		{"docker compose exec web kafka-topics.sh --bootstrap-server localhost:9092 --delete --topic orders", files{"compose.yaml": "services:\n  web:\n    build: .\n"}, false},

		{"bin/rails db:reset", files{}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@db.acme.example/app\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@localhost/app_production\n"}, false},
		{"bin/rails db:reset", files{".env": local + "PROD_DATABASE_URL=postgres://app@localhost/x\n"}, false},
		{"bin/rails db:reset", files{".env": local + "RAILS_ENV=production\n"}, false},
		{"bin/rails db:reset", files{".env": local + "DATABASE_URL=postgres://app@db.acme.example/app\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@db.acme.example/app\n" + local}, false},
		{"bin/rails db:reset", files{".env": local, ".env.local": "DATABASE_URL=postgres://app@db.acme.example/app\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=$(op read op://prod/db)\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@${DB_HOST}/app\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@localhost/app?host=db.acme.example\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://localhost@db.acme.example/app\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@localhost.acme.example/app\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@db/app\n"}, false},
		{"bin/rails db:reset", files{".env": "DATABASE_URL=postgres://app@localhost,db.acme.example/app\n"}, false},
		{"bin/rails db:reset", files{".env/x": "no file"}, false},
		{"bin/rails db:reset", files{".env": local, "config/database.yml": "development:\n  adapter: postgresql\n  host: db.acme.example\n  database: app\n"}, false},
		{"bin/rails db:reset", files{"config/database.yml": "development:\n  adapter: postgresql\n  host: <%= ENV[\"DB_HOST\"] %>\n  database: app\n"}, false},
		{"bin/rails db:reset", files{"config/database.yml": rails, ".env": "DB_HOST=db.acme.example\n"}, false},
		{"RAILS_ENV=production bin/rails db:reset", env, false},
		{"export RAILS_ENV=production; bin/rails db:reset", env, false},
		{"DATABASE_URL=postgres://app@db.acme.example/app bin/rails db:reset", env, false},
		{"bin/rails db:reset DATABASE_URL=postgres://app@db.acme.example/app", env, false},
		{"source .env.production && bin/rails db:reset", env, false},
		{"set -a; . ./live.env; set +a; bin/rails db:reset", env, false},
		{"env $(cat .env.production) bin/rails db:reset", env, false},
		{"dotenv -f .env.production bin/rails db:reset", env, false},
		{"ssh web bin/rails db:reset", env, false},
		{"cd ../other && bin/rails db:reset", env, false},
		{"heroku run rails db:reset", env, false},
		{"cp live.env .env && bin/rails db:reset", env, false},
		{"echo DATABASE_URL=postgres://localhost/app > .env && bin/rails db:reset", files{}, false},
		{"ssh -L 5432:db:5432 bastion -fN && bin/rails db:reset", env, false},
		{"npx prisma migrate reset --schema other.prisma", env, false},
		{"npx prisma migrate reset", files{".env": local, "prisma/schema.prisma": "datasource db {\n  url = env(\"LIVE_DB_URL\")\n}\n"}, false},
		{"sqlx database reset -y -D postgres://app@db.acme.example/app", env, false},
		{"python manage.py flush --no-input --database replica", files{"manage.py": manage, "shop/settings.py": django}, false},
		{"python manage.py flush --settings shop.live", files{"manage.py": manage, "shop/settings.py": django}, false},
		{"python manage.py flush", files{".env": local, "manage.py": manage, "shop/settings.py": "from .base import *\n"}, false},
		{"psql \"$LIVE_URL\" -c 'TRUNCATE users'", env, false},
		{"psql \"$DATABASE_URL\" -h db.acme.example -c 'TRUNCATE users'", env, false},
		{"psql \"$DATABASE_URL\" -c 'TRUNCATE production_users'", env, false},
		{"psql \"$DATABASE_URL\" -c '\\c host=db.acme.example' -c 'TRUNCATE users'", env, false},
		{"DATABASE_URL=$(cat live); psql \"$DATABASE_URL\" -c 'TRUNCATE users'", env, false},
		{"read DATABASE_URL < live; psql \"$DATABASE_URL\" -c 'TRUNCATE users'", env, false},
		{"psql -h localhost other -c 'TRUNCATE users'", env, false},
		{"docker compose exec web bin/rails db:reset", files{".env": service, "docker-compose.yml": compose}, true},
		{"docker compose exec web bin/rails db:reset", files{".env": service, "docker-compose.yml": compose + "x: postgres://app@db.acme.example/app\n"}, false},
		{"docker compose exec web psql -c 'TRUNCATE users'", files{"docker-compose.yml": compose}, false},
		{"docker compose exec db psql -c 'TRUNCATE users'", files{}, false},
		{"docker compose exec db psql -h db.acme.example -c 'TRUNCATE users'", files{"docker-compose.yml": compose}, false},
		{"docker compose -p live exec db psql -c 'TRUNCATE users'", files{"docker-compose.yml": compose}, false},
		{"docker -H ssh://web exec NAME-db-1 psql -c 'TRUNCATE users'", files{"docker-compose.yml": compose}, false},
		{"docker exec other-db-1 psql -c 'TRUNCATE users'", files{"docker-compose.yml": compose}, false},
		{"docker volume rm other_data", files{"docker-compose.yml": compose}, false},
		{"docker volume rm NAME_data", files{"docker-compose.yml": "services:\n  db: {}\nvolumes:\n  data:\n    external: true\n"}, false},
		{"docker rm -v other-web-1", files{"docker-compose.yml": compose}, false},
	} {
		at := filepath.Join(dir, fmt.Sprint("own", i))
		for name, text := range tt.files {
			write(t, filepath.Join(at, name), text)
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		command := strings.ReplaceAll(tt.command, "NAME", filepath.Base(at))
		d, _ := n.decide(t, tool(fmt.Sprint("stores", i), "1", "shell", at, "command", command))
		if passes := d.Effect == act.Allow; passes != tt.passes {
			t.Errorf("%s with %v: %v %v", command, tt.files, d.Effect, codesOf(d))
		}
	}
}

// TestOwnStoresSession: what an agent has itself written, or had its shell take, says nothing of where its
// data is.
func TestOwnStoresSession(t *testing.T) {
	n, dir := codingAgents(t)
	const local = "DATABASE_URL=postgres://app:app@localhost:5432/app\n"
	for i, tt := range []struct {
		name, tool string
		arguments  []string
		passes     bool
	}{
		{"nothing of it", "write_file", []string{"path", "README.md", "content", "# App\n"}, true},
		{"what is looked at", "shell", []string{"command", "cat package.json"}, true},
		{"the programs found", "shell", []string{"command", "source .venv/bin/activate"}, true},
		{"another variable", "shell", []string{"command", "export NODE_OPTIONS=--max-old-space-size=4096"}, true},

		{"the settings written", "write_file", []string{"path", ".env", "content", local}, false},
		{"the settings copied", "shell", []string{"command", "cp config/database.yml.example config/database.yml"}, false},
		{"the settings changed", "shell", []string{"command", "sed -i s/db.acme.example/localhost/ config/database.yml"}, false},
		{"another variable of a database", "shell", []string{"command", "export DATABASE_URL=postgres://app@db.acme.example/app"}, false},
		{"another cluster", "shell", []string{"command", "export KUBECONFIG=$HOME/acme"}, false},
		{"another stage", "shell", []string{"command", "export RAILS_ENV=production"}, false},
		{"other settings taken", "shell", []string{"command", "set -a; . ./live.env; set +a"}, false},
		{"a tunnel", "shell", []string{"command", "ssh -fN -L 5432:db:5432 bastion"}, false},
	} {
		at := filepath.Join(dir, fmt.Sprint("asked", i))
		write(t, filepath.Join(at, ".env"), local)
		write(t, filepath.Join(at, "config/database.yml"), "development:\n  adapter: postgresql\n  host: localhost\n  database: app\n")
		session := fmt.Sprint("astray", i)
		before, _ := n.decide(t, tool(session, "1", tt.tool, at, tt.arguments...))
		d, _ := n.decide(t, tool(session, "2", "shell", at, "command", "bin/rails db:reset"))
		if passes := d.Effect == act.Allow; passes != tt.passes {
			t.Errorf("%s: %v %v (before: %v %v)", tt.name, d.Effect, codesOf(d), before.Effect, codesOf(before))
		}
	}
}

// TestChosenCluster: what is deleted in the cluster that was chosen last passes where that is one of this
// machine, by its name and by its address.
func TestChosenCluster(t *testing.T) {
	n, dir := codingAgents(t)
	config := func(context, server string) string {
		return "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: LS0t\n    server: " + server + "\n  name: c\n- cluster:\n    server: https://k8s.acme.example\n  name: d\ncontexts:\n- context:\n    cluster: c\n    user: u\n  name: " + context + "\ncurrent-context: " + context + "\npreferences: {}\nusers:\n- name: u\n  user: {}\n"
	}
	for i, tt := range []struct {
		command, config string
		passes          bool
	}{
		{"kubectl delete ns test", config("kind-x", "https://127.0.0.1:6443"), true},
		{"helm uninstall web", config("k3d-x", "https://0.0.0.0:6443"), true},
		{"kubectl delete ns test", config("minikube", "https://192.168.49.2:8443"), true},
		{"kubectl delete ns test", config("docker-desktop", "https://kubernetes.docker.internal:6443"), true},

		{"kubectl delete ns test", config("acme", "https://127.0.0.1:6443"), false},
		{"kubectl delete ns test", config("kind-x", "https://k8s.acme.example"), false},
		{"kubectl delete ns test", config("kind-prod", "https://127.0.0.1:6443"), false},
		{"kubectl delete ns test", "current-context: kind-x\n", false},
		{"kubectl delete ns test", "", false},
		{"kubectl --context acme delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
		{"kubectl config use-context acme && kubectl delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
		{"kubectl config use-context acme; kubectl delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
		{"kubectl config set-cluster c --server=https://k8s.acme.example; kubectl delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
		{"kubectl --kubeconfig other delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
		{"KUBECONFIG=other kubectl delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
		{"ssh web kubectl delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
		{"cp other ~/.kube/config; kubectl delete ns test", config("kind-x", "https://127.0.0.1:6443"), false},
	} {
		write(t, filepath.Join(dir, "home/.kube/config"), tt.config)
		d, _ := n.decide(t, tool(fmt.Sprint("cluster", i), "1", "shell", dir, "command", tt.command))
		if passes := d.Effect == act.Allow; passes != tt.passes {
			t.Errorf("%s with %q: %v %v", tt.command, tt.config, d.Effect, codesOf(d))
		}
	}
}
