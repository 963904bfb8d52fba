package hazard

import "testing"

// Databases of tests and registries of the machine itself are told by what a command says of
// them; whatever might be another's counts as before.
func TestRehearsals(t *testing.T) {
	for _, c := range []string{
		"dropdb shop_test && createdb shop_test", "dropdb --if-exists -h localhost -U ada app-test", "RAILS_ENV=test bin/rails db:drop db:create", "bin/rails db:schema:load RAILS_ENV=test",
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
		"bin/rails db:drop RAILS_ENV=test RAILS_ENV=production", "RAILS_ENV=$X bin/rails db:drop",
		"twine upload dist/*", "twine upload --repository-url https://upload.pypi.example/legacy/ dist/*", "twine upload --repository-url http://localhost:8080/ --repository-url https://pypi.example/ dist/*", "twine upload --repository-url http://localhost.pypi.example/ dist/*",
		"twine upload --repository-url http://localhost@pypi.example/ dist/*", "twine upload --comment http://localhost/ dist/*", "npm publish --registry http://localhost:4873", "docker push registry.example/app:1", "docker push localhost/app:1",
		"cap production deploy", "p4 revert ...", "tcpdump -A -i eth0", "gem push a.gem",
		`reg add "HKCU\Software\Microsoft\Windows\CurrentVersion\Run" /v x /d C:\x.exe`, `Set-ItemProperty HKCU:\Software\Microsoft\Windows\CurrentVersion\Run -Name x -Value C:\x.exe`,
	} {
		if a := assessed(c); a.Score < 0.4 {
			t.Errorf("%s passes: %.2f %+v", c, a.Score, a.Findings)
		}
	}
}
