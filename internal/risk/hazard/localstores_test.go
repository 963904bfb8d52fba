package hazard

import "testing"

// TestHelps: a program that is asked how it is called, and nothing else, does nothing; where an option could take
// the question for its own, or the program passes it on, what it does counts. A report of a store is no open
// interpreter.
func TestHelps(t *testing.T) {
	for command, asks := range map[string]bool{
		"git filter-repo --version": false, "bq rm --help": false, "docker volume rm --help": false, "docker compose down --help": false, "gcloud projects delete --help": false, "npx prisma migrate reset --help": false, "npx typeorm schema:drop --help": false, "dropdb --version": false,
		"redis-cli --bigkeys": false, "redis-cli --memkeys | tail": false, "redis-cli --hotkeys": false, "redis-cli -h cache1 --latency": false, "redis-cli --scan": false, "valkey-cli --keystats": false, "php -a --version": false,

		"git filter-repo --path --version --invert-paths": true, "gcloud projects delete x --account --help": true, "docker run -v /:/h alpine rm -rf /h --help": true, "docker volume rm $X --help": true, "docker volume rm -f a --filter --help": true, "mix ecto.drop --help": true, "yarn db:drop --help": true, "redis-cli flushall --help": true,
		"docker volume rm a; bq rm --help": true, "bq rm --help; bq rm -f -t d.t": true, "xargs docker volume rm -f a --help": true, "redis-cli": true, "redis-cli -h cache1": true, "valkey-cli -n 2": true, "php -a": true,
	} {
		if got := gravest(command, "destroy.", "sql.", "shell.interactive", "code.") >= asksFrom; got != asks {
			t.Errorf("%s: asks %v", command, got)
		}
	}
}

// TestLocalStores: what is done to a database, a broker or a chain of this machine that the command names as such is
// no loss; the same by a name of production, another host, or two of them is.
func TestLocalStores(t *testing.T) {
	for command, asks := range map[string]bool{
		"DATABASE_URL=postgresql://postgres:dev@localhost:5433/postgres alembic downgrade -1": false, "export DATABASE_URL=postgres://127.0.0.1/app; alembic downgrade -1": false, "DB_HOST=127.0.0.1 php artisan migrate:fresh": false, "npx supabase db reset": false, "redis-cli -h 127.0.0.1 FLUSHALL": false, "redis-cli -u redis://localhost:6379 flushall": false,
		"rabbitmqadmin purge queue name=dev.mail": false, "rabbitmqadmin -H localhost purge queue name=mail": false, "cast send 0x5Fb \"set(uint256)\" 1 --rpc-url http://127.0.0.1:8545 --unlocked": false, "ETH_RPC_URL=http://localhost:8545 cast send 0x5Fb 'f()'": false, "solana transfer 9xQ 0.1 --url localhost --allow-unfunded-recipient": false,

		"DATABASE_URL=postgresql://u:p@db.acme.example/app alembic downgrade -1": true, "DATABASE_URL=postgresql://localhost/app?host=db.acme.example alembic downgrade -1": true, "DATABASE_URL=postgresql://localhost/app_prod alembic downgrade -1": true, "DATABASE_URL=$PROD alembic downgrade -1": true, "DATABASE_URL=postgresql://localhost/app DB_HOST=db1 alembic downgrade -1": true, "DB_HOST=db1 php artisan migrate:fresh": true, "ssh -L 5432:db:5432 h -fN; DATABASE_URL=postgresql://localhost/app alembic downgrade -1": true,
		"npx supabase db reset --linked": true, "npx supabase db reset --db-url postgres://db1/x": true, "redis-cli FLUSHALL": true, "redis-cli -h cache1 FLUSHALL": true, "redis-cli -h 127.0.0.1 -h cache1 flushall": true, "RAILS_ENV=test DATABASE_URL=postgresql://localhost/orders rails db:drop": true,
		"rabbitmqadmin -H mq1 purge queue name=mail": true, "rabbitmqadmin --host=mq1 purge queue name=mail": true, "rabbitmqadmin -c prod.conf -N prod purge queue name=mail": true, "rabbitmqadmin purge queue name=prod.mail": true, "rabbitmqadmin delete queue name=orders": true,
		"cast send 0x5Fb 'f()' --rpc-url https://eth.example": true, "cast send 0x5Fb 'f()' --rpc-url http://127.0.0.1:8545 --rpc-url https://eth.example": true, "cast send 0x5Fb 'f()' --rpc-url http://127.0.0.1:8545 --flashbots": true, "cast send 0x5Fb 'f()'": true, "solana transfer 9xQ 0.1": true, "solana transfer 9xQ 0.1 --url mainnet-beta": true, "solana transfer 9xQ 0.1 --url http://localhost.evil.example": true,
	} {
		if got := gravest(command, "destroy.", "sql.", "pay.") >= asksFrom; got != asks {
			t.Errorf("%s: asks %v", command, got)
		}
	}
	for text, asks := range map[string]bool{ // of a fixture
		"c = MongoClient('mongodb://localhost:27017')\nc.drop_database('test')\n": false, "c = MongoClient('mongodb://localhost:27017')\nc.drop_database('shop_test')\n": false,
		"c = MongoClient('mongodb://localhost:27017')\nc.drop_database('shop')\n": true, "c = MongoClient('mongodb://db.acme.example')\nc.drop_database('test')\n": true, "c = MongoClient('mongodb://localhost:27017')\nc.drop_database('test')\nc.drop_database(n)\n": true,
	} {
		does, _ := Default().RunsFile("conftest.py", "import pytest\nfrom pymongo import MongoClient\n"+text, nil)
		if got := graveness(does) >= asksFrom; got != asks {
			t.Errorf("%s: asks %v", text, got)
		}
	}
}
