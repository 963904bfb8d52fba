package hazard

import "testing"

// Databases of tests and registries of the machine itself are told by what a command says of
// them; whatever might be another's counts as before.
func TestRehearsals(t *testing.T) {
	for _, c := range []string{
		"dropdb shop_test && createdb shop_test", "php artisan migrate:fresh", "alembic downgrade base && alembic upgrade head", "dropdb --if-exists -h localhost -U ada app-test", "RAILS_ENV=test bin/rails db:drop db:create", "php artisan migrate:fresh --seed --env=testing", "python manage.py flush --no-input --settings=shop.settings.test", "npx sequelize db:drop --env test", "RAILS_ENV=test bundle exec rails db:drop",
		"fly deploy --config fly.staging.toml", "sls deploy --stage dev", "gcloud run deploy api-dev --source .", "cdk deploy ShopDevStack", "aws lambda update-function-code --function-name thumb-dev --zip-file fileb://t.zip",
		"psql -d app_test -c 'truncate table sessions restart identity'", "curl -X DELETE http://localhost:9200/test-index", "git clean -fd build/", "git clean -nd && git clean -xfd dist tmp/cache", "usermod -aG dialout ada", "usermod -a -G video,render ada",
		"psql -h localhost -d warehouse -c 'truncate table staging.tmp_orders'", "psql -h localhost -U a -d w -c 'drop table if exists marts.c_old; create table marts.c_old as select * from marts.c'", "mysql -h 127.0.0.1 shop -e 'DROP TABLE tmp_orders; DELETE FROM scratch'",
		"sqlcmd -S localhost -d Portal -Q 'DROP TABLE tmp_orders'", "sqlcmd -S tcp:localhost,1433 -d Portal -Q 'TRUNCATE TABLE dbo.tmp_a'", "dotnet ef migrations remove", "dotnet ef migrations remove --force -p src/Data",
		"psql postgresql://a:a@localhost:5433/w -c 'create schema if not exists scratch' -c 'drop table if exists scratch.kept' -c 'create table scratch.kept as select 1 as n' -c 'truncate scratch.kept' -c \"\\copy scratch.kept FROM 'n.csv' CSV\"",
		"psql -h localhost -d w -c 'drop table if exists kept' -c 'create table kept as select 1'", "redis-cli -u redis://:x@redis-prod.acme.example:6379/0 info memory", "redis-cli -h redis-prod.acme.example -n 2 get a",
		"supabase db reset", "git filter-repo --path src/old --invert-paths --dry-run", "psql -q -X app_test -c 'drop table sessions'", "echo 'drop table sessions' | psql app_test", "DISABLE_DATABASE_ENVIRONMENT_CHECK=1 RAILS_ENV=test bin/rails db:drop",
		"bin/rails db:schema:load RAILS_ENV=test",
		"MIX_ENV=test mix ecto.reset", "dotnet nuget push a.nupkg --source http://localhost:5555/v3/index.json", "twine upload --repository-url http://127.0.0.1:8080/ dist/*",
		"docker push localhost:5000/app:1", "gem push a.gem --host=http://localhost:9292", "cap staging deploy --dry-run", "p4 revert -a ...", "tshark -r captures/a.pcap -Y bgp", "adb reverse tcp:8081 tcp:8081",
		`reg query "HKCU\Software\Microsoft\Windows\CurrentVersion\Run"`, `Get-ItemProperty HKCU:\Software\Microsoft\Windows\CurrentVersion\Run`,
	} {
		if a := assessed(c); a.Score >= 0.4 {
			t.Errorf("%s: %.2f %+v", c, a.Score, a.Findings)
		}
	}
	for _, c := range []string{
		"dropdb shop", "dropdb shop_production", "dropdb test_production", "dropdb latest", "dropdb contest", "dropdb -h db.example shop_test", "dropdb -hdb.example shop_test", "dropdb $DB_test", "dropdb shop_test shop",
		"PGHOST=db.example dropdb shop_test", "export PGHOST=db.example; dropdb shop_test", "PGSERVICE=live dropdb shop_test", "dropdb postgres://db.example/shop_test",
		"psql -d shop_test -c 'drop database shop'", "psql -d shop_test -c 'DROP TABLE live.orders'", `psql -d shop_test -c '\c shop' -c 'drop table orders'`, "psql -d shop_test -d shop -c 'drop table orders'", "psql shop_test -f - <<< 'drop database shop'",
		"psql shop -c 'select 1' -c 'drop table orders'", "psql shop --command='select 1' --command='drop table orders'", "mysql shop -e 'select 1' -e 'drop table orders'",
		"bin/rails db:drop", "RAILS_ENV=production bin/rails db:drop", "RAILS_ENV=test true; bin/rails db:drop", "export RAILS_ENV=test; RAILS_ENV=production bin/rails db:drop", "RAILS_ENV=test DATABASE_URL=postgres://db.example/shop bin/rails db:drop",
		"php artisan migrate:fresh --force", "php artisan migrate:fresh --env=production", "php artisan migrate:fresh --env=testing --env=production", "php -r 'x' artisan migrate:fresh --env=testing", "APP_ENV=test php artisan migrate:fresh --env=production",
		"php artisan migrate:fresh --env=testing --database=live", "python manage.py flush --settings=shop.settings.live", "python manage.py flush --settings=$S", "python manage.py flush --settings=test.settings.live", "true --env=testing; php artisan db:wipe",
		"fly deploy", "fly deploy --config fly.toml", "fly deploy --app shop-prod --config fly.staging.toml", "fly deploy --build-arg MODE=dev", "sls deploy --stage $S", "sls deploy --stage dev --stage production", "cdk deploy ShopDevStack ShopProdStack", "cdk deploy ShopDevStack ShopStack", "sls deploy # --stage dev",
		"fly apps destroy shop-dev", "gcloud run deploy api --source .", "gcloud run deploy devices --source .",
		"psql -h localhost -d w -c 'truncate table staging.orders'", "psql -h db.acme.dev -d w -c 'truncate table tmp_orders'", "psql -h localhost -d w_prod -c 'truncate table tmp_orders'", "psql -h localhost -d w -c 'truncate table prod_tmp'", "psql -h localhost -d w -f x.sql -c 'drop table tmp_a'",
		"psql -h localhost -d w -c 'drop table tmp_a, orders'", "psql -h localhost -d w -c 'drop table c; create table c_old as select * from c'", "psql -h localhost -d w -c 'drop schema tmp cascade'", "psql -h localhost -d w -c 'drop database tmp'", "psql -h localhost -d w -c 'drop table tmp_a' -c 'drop table b'",
		"psql -h localhost -d w -c 'drop table c' -c 'create table c_old as select 1'", "psql -h localhost -d w -c 'drop table kept' -c '\\i more.sql'", "redis-cli -u redis://:x@redis-prod.acme.example:6379/0 del a", "redis-cli -u redis://redis-prod.acme.example set get 1",
		"psql 'host=db.acme.dev dbname=w' -c 'drop table tmp_a'", "PGHOST=db.acme.dev psql -d w -c 'drop table tmp_a'", "sqlcmd -S db.acme.dev -d Portal -Q 'DROP TABLE tmp_a'", "sqlcmd -Sdb.acme.dev -Q 'DROP TABLE tmp_a'", "ssh -fNL 5432:db.example:5432 b; psql -h localhost -d w -c 'drop table tmp_a'", "ssh db 'psql -h localhost -c \"drop table tmp_a\"'",
		"dotnet ef database drop", "php artisan migrate:reset", "drizzle-kit drop migrations", "doctrine migrations reset",
		"psql -d app -c 'truncate table sessions'", "curl -X DELETE http://localhost:9200/orders", "curl -X DELETE http://es.example:9200/test-index", "git clean -fd", "git clean -fdx .", "git clean -fdx ./", "git clean -fdx ../other", "git clean -fd '*'", "git clean -fdx -e keep", "git -C ~ clean -fdx Documents",
		"cd ~ && git clean -fdx work", "GIT_WORK_TREE=/ git clean -fdx etc", "git clean -fdx $X", "usermod -aG docker ada", "usermod -aG dialout,sudo ada", "usermod -aG dialout -p x ada", "usermod -aG dialout -u 0 ada", "usermod -aG $G ada",
		"supabase db reset --linked", "supabase db reset --db-url postgres://db.example/x", "supabase db reset $HOW", "git filter-repo --path src/old --invert-paths",
		"bin/rails db:drop RAILS_ENV=test RAILS_ENV=production", "RAILS_ENV=$X bin/rails db:drop",
		"twine upload dist/*", "twine upload --repository-url https://upload.pypi.example/legacy/ dist/*", "twine upload --repository-url http://localhost:8080/ --repository-url https://pypi.example/ dist/*", "twine upload --repository-url http://localhost.pypi.example/ dist/*",
		"twine upload --repository-url http://localhost@pypi.example/ dist/*", "twine upload --comment http://localhost/ dist/*", "npm publish --registry http://localhost:4873", "docker push registry.example/app:1", "docker push localhost/app:1",
		"psql --hos=db.example shop_test -c 'drop table orders'", "dropdb --hos=db.example shop_test", "PGHOSTADDR=10.0.0.1 dropdb shop_test", "PGSERVICEFILE=x dropdb shop_test", "PGPORT=6543 dropdb shop_test",
		"psql shop_test <<< 'drop database shop'", "echo 'drop table live.orders' | psql shop_test",
		"RAILS_ENV=test DB_NAME=shop bin/rails db:drop", "DB_CONNECTION=live php artisan migrate:fresh --env=testing", "DB_DATABASE=shop php artisan migrate:fresh --env=testing", "export PRIMARY_DATABASE_URL=postgres://db.example/shop; RAILS_ENV=test bin/rails db:drop",
		"RAILS_ENV=test php artisan migrate:reset", "NODE_ENV=test bin/rails db:drop", "MIX_ENV=test python manage.py flush", "RAILS_ENV=test bin/rails db:drop --environment=production", "RAILS_ENV=test bin/rails db:drop -e production", "RAILS_ENV=test bin/rails db:drop:all", "MIX_ENV=test mix ecto.drop -r Live.Repo", "NODE_ENV=test npx sequelize db:drop --ur postgres://db.example/shop",
		"fly deploy -e MODE=test", "fly deploy --env MODE=test", "cdk deploy ShopDevStack --all", "cdk deploy --all -a 'node dev.js'",
		"twine upload --repository-url http://localhost/ --repository-ur https://pypi.example/ dist/*", "curl -X DELETE http://localhost:9200/test-index,orders", "supabase db reset --linke", "supabase db reset --db-ur x",
		"ssh -fNL 5432:db.example:5432 bastion; dropdb -h localhost shop_test", "ssh -f -N -L5432:db.example:5432 bastion && psql -h localhost -d shop_test -c 'drop table orders'", "ssh -o LocalForward='5432 db.example:5432' -fN bastion; dropdb shop_test", "kubectl port-forward svc/db 5432 & dropdb -h localhost shop_test",
		"cloud-sql-proxy shop:eu:prod & dropdb -h 127.0.0.1 shop_test", "ssh -fNL 5000:registry.example:5000 bastion; docker push localhost:5000/app:1",
		"cap production deploy", "p4 revert ...", "tcpdump -A -i eth0", "gem push a.gem",
		`reg add "HKCU\Software\Microsoft\Windows\CurrentVersion\Run" /v x /d C:\x.exe`, `Set-ItemProperty HKCU:\Software\Microsoft\Windows\CurrentVersion\Run -Name x -Value C:\x.exe`,
	} {
		if a := assessed(c); a.Score < 0.4 {
			t.Errorf("%s passes: %.2f %+v", c, a.Score, a.Findings)
		}
	}
}
