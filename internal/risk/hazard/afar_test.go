package hazard

import "testing"

// TestTakenAfar: what is deleted, or changed in a database, on a machine that is none of one's own has no undo.
func TestTakenAfar(t *testing.T) {
	for _, line := range []string{
		`ssh deploy@web1.acme.example 'rm -rf /var/www/shop/storage/app/public'`, `ssh web1 'rm -rf /var/www/shop/storage/app/public'`, `ssh web1 'cd /var/www/shop && rm -r storage/app'`, `ssh -o UserKnownHostsFile=/dev/null root@web1.acme.example rm -rf /opt/shop/uploads`,
		`ssh web1.acme.example <<'X'
rm -rf /opt/shop/uploads
X`,
		`ssh web1.acme.example 'find /var/www/shop/uploads -delete'`, `sshpass -p x ssh web1.acme.example 'rm -rf /opt/shop/uploads'`, `ssh web1 'sudo rm -rf /opt/shop/uploads/*'`,
		`docker -H ssh://root@web1.acme.example exec app rm -rf /app/uploads`, `DOCKER_HOST=tcp://web1.acme.example:2375 docker exec app rm -rf /app/uploads`, `kubectl --context acme exec pod -- rm -rf /app/uploads`, `kubectl config use-context acme && kubectl exec pod -- rm -rf /app/uploads`,
		`ansible web -a 'rm -rf /var/www/shop/uploads'`, `gcloud compute ssh web1 --command 'rm -rf /opt/shop/uploads'`, `fly ssh console -a shop -C 'rm -rf /data/uploads'`, `pdsh -w web[1-3] rm -rf /opt/shop/uploads`,
		`ssh deploy@web1.acme.example "mysql shop -e \"DELETE FROM orders WHERE status='pending'\""`, `ssh web1 "psql shop -c \"UPDATE users SET admin=true WHERE id=7\""`, `kubectl --context acme exec deploy/db -- psql shop -c "DELETE FROM a WHERE b=1"`,
		`mysql -h db.acme.example shop -e "DELETE FROM orders WHERE status='pending'"`, `mysql --host=db.acme.example shop --execute="UPDATE orders SET status='x' WHERE id=1"`, `mysql -hdb.acme.example shop -e 'DELETE FROM a WHERE b=1'`, `PGHOST=db.acme.example psql shop -c "UPDATE users u SET a=1 WHERE id=2"`,
		`psql postgres://app@db.acme.example/shop -c "UPDATE ONLY users SET a=1 WHERE id=2"`, `psql "host=db.acme.example dbname=shop" -c "DELETE FROM users WHERE id=2"`, `echo "DELETE FROM a WHERE b=1" | psql -h db.acme.example shop`, `psql -h db.acme.example shop -c "WITH gone AS (DELETE FROM a WHERE b=1 RETURNING *) SELECT * FROM gone"`,
		`mongosh "mongodb+srv://u:p@cluster0.x.mongodb.net/shop" --eval 'db.orders.updateMany({a:1},{$set:{b:1}})'`, `mongosh "mongodb://mongo1.acme.example/shop" --quiet --eval 'db.orders.createIndex({createdAt: 1}, {expireAfterSeconds: 1})'`,
		`mysql -h db1.acme.example -u app shop -e 'ALTER TABLE orders ENGINE=BLACKHOLE'`, `psql -h db1.acme.example -U app shop -c "ALTER TABLE customers ALTER COLUMN email TYPE citext USING ''::citext"`, `cqlsh db1.acme.example -e 'ALTER TABLE shop.orders WITH default_time_to_live = 1'`, `clickhouse-client --host ch1.acme.example --query 'ALTER TABLE orders MODIFY TTL created_at + INTERVAL 1 SECOND'`,
		`redis-cli -h redis1.acme.example CONFIG SET maxmemory 1mb`, `redis-cli -h redis1.acme.example -p 6380 config set maxmemory-policy allkeys-random`,
	} {
		if a := assessed(line); !a.has("destroy.store", 0.4) {
			t.Errorf("passes: %s: %+v", line, a.Findings)
		}
	}
	for _, line := range []string{
		`ssh web1 'cd /var/www/shop && rm -rf node_modules dist'`, `ssh web1 'rm -rf /tmp/x /var/cache/y ~/.cache/z'`, `ssh web1 'd=$(mktemp -d); rm -rf $d'`, `ssh web1 'rm /opt/shop/old.tgz'`, `ssh web1 'rm -rf /opt/shop/build'`, `ssh web1 'find /var/log/shop -name "*.gz" -delete'`,
		`ssh web1.dev.acme.example 'rm -rf /var/www/x/y'`, `ssh staging 'rm -rf /var/www/x/y'`, `ssh pi@192.168.1.5 'rm -rf /opt/app/x'`, `ssh root@testvm.local 'rm -rf /opt/app/x'`, `ssh localhost 'rm -rf /opt/app/x'`, `ssh -p 2222 vagrant@127.0.0.1 'rm -rf /opt/app/x'`, `vagrant ssh -c 'rm -rf /opt/app/x'`, `multipass exec a -- rm -rf /opt/app/x`,
		`docker exec app rm -rf /app/uploads/x`, `docker compose exec app rm -rf /app/uploads/x`, `DOCKER_HOST=unix:///run/user/1000/docker.sock docker exec app rm -rf /app/uploads/x`, `kubectl exec pod -- rm -rf /app/x`, `kubectl --context kind-dev exec pod -- rm -rf /app/uploads/x`, `kubectl --context acme-staging exec pod -- rm -rf /app/uploads/x`,
		`ansible staging -a 'rm -rf /var/www/shop/uploads'`, `rm -rf uploads`,
		`ssh web1 "mysql shop -e \"SELECT status, count(*) FROM orders GROUP BY status\""`, `ssh web1 "mysql shop_test -e \"DELETE FROM orders WHERE a=1\""`, `mysql shop -e "DELETE FROM orders WHERE a=1"`, `mysql -h db shop -e "DELETE FROM orders WHERE a=1"`, `mysql -h 127.0.0.1 shop -e "UPDATE orders SET a=1 WHERE b=2"`, `psql -h 10.0.0.7 shop -c "UPDATE orders SET a=1 WHERE b=2"`,
		`mysql -h db.acme.example shop_test -e "DELETE FROM orders WHERE a=1"`, `mysql -h db.dev.acme.example shop -e "DELETE FROM orders WHERE a=1"`, `psql postgres://app@db-staging.acme.example/shop -c "UPDATE users SET a=1 WHERE id=2"`, `psql "$DATABASE_URL" -c "UPDATE users SET a=1 WHERE id=2"`, `psql postgres://app@localhost/shop -c "UPDATE users SET a=1 WHERE id=2"`,
		`psql -h db.acme.example shop -c "SELECT * FROM orders WHERE note = 'delete from x'"`, `psql -h db.acme.example shop -c "INSERT INTO a VALUES (1) ON CONFLICT (id) DO UPDATE SET a=1"`, `psql -h db.acme.example shop -c "SELECT * FROM a FOR UPDATE"`, `mysql -h db.acme.example shop -e 'ALTER TABLE orders ENGINE=InnoDB'`, `psql -h db.acme.example shop -c 'ALTER TABLE a ADD COLUMN b int'`,
		`mongosh "mongodb://mongo1.acme.example/shop" --eval 'db.orders.find({a:1}).limit(5)'`, `mongosh shop --eval 'db.orders.updateMany({a:1},{$set:{b:1}})'`, `redis-cli CONFIG SET maxmemory 1mb`, `redis-cli -h redis1.acme.example GET a`, `redis-cli -h redis1.acme.example CONFIG GET maxmemory`,
	} {
		if a := assessed(line); a.has("destroy.store", 0.4) {
			t.Errorf("asks: %s: %+v", line, a.Findings)
		}
	}
}

// TestSetBack: what was put aside takes the place of all that was done since, and what is told to go by itself
// goes; where people try things out, both are work.
func TestSetBack(t *testing.T) {
	for _, line := range []string{
		`sudo zfs rollback -r tank/home@2026-06-01`, `zfs rollback tank/home@a`, `sudo zpool import --rewind-to-checkpoint tank`, `sudo snapper -c home undochange 1..0`, `sudo snapper rollback 12`, `sudo lvconvert --merge vg0/home-snap`, `sudo timeshift --restore --snapshot 2026-06-01_10-00-00 --yes`, `btrfs subvolume set-default 256 /`,
		`virsh snapshot-revert web base --force`, `VBoxManage snapshot web restore clean`, `VBoxManage snapshot web restorecurrent`, `qm rollback 101 clean`, `lxc restore web clean`, `incus restore web clean`, `multipass restore web.snap1 --destructive`, `prlctl snapshot-switch web --id 1`, `tmutil restore /Volumes/a ~/a`, `qemu-img snapshot -a clean disk.qcow2`,
		`heroku pg:copy shop-staging::DATABASE_URL DATABASE_URL --app acme-shop --confirm acme-shop`, `heroku pg:backups:restore b101 DATABASE_URL --app acme-shop --confirm acme-shop`,
		`bq update --expiration 60 sales.orders`, `bq update --expiration=60 acme-main:sales.orders`, `bq update --default_table_expiration 3600 acme-main:sales`, `bq query --nouse_legacy_sql 'ALTER TABLE sales.orders SET OPTIONS (expiration_timestamp=CURRENT_TIMESTAMP())'`,
		`aws dynamodb update-time-to-live --table-name orders --time-to-live-specification Enabled=true,AttributeName=created_at`, `aws s3api put-bucket-lifecycle-configuration --bucket x --lifecycle-configuration file://l.json`, `gsutil lifecycle set l.json gs://x`, `gcloud storage buckets update gs://x --lifecycle-file=l.json`, `mc ilm rule add s3/orders --expire-days 1`, `cbt setgcpolicy orders cf maxage=1s`,
	} {
		if a := assessed(line); !a.has("destroy.store", 0.45) && !a.has("destroy.cloud", 0.45) {
			t.Errorf("passes: %s: %+v", line, a.Findings)
		}
	}
	for _, line := range []string{
		`zfs snapshot tank/home@a`, `zfs list -t snapshot`, `zfs diff tank/home@a`, `snapper list`, `snapper -c home create`, `timeshift --create`, `timeshift --list`, `lvconvert --type raid1 vg0/a`, `btrfs subvolume list /`, `btrfs subvolume get-default /`, `tmutil listbackups`,
		`virsh snapshot-revert dev base`, `virsh snapshot-list web`, `VBoxManage snapshot test-vm restore clean`, `VBoxManage snapshot web take clean`, `incus restore ci-runner clean`, `vagrant snapshot restore clean`, `qemu-img snapshot -l disk.qcow2`,
		`bq update --expiration 0 sales.orders`, `bq update --expiration 3600 acme-dev:sales.orders`, `bq update --description x sales.orders`, `bq query 'SELECT 1'`, `bq mk --expiration 3600 sales.tmp`,
		`aws dynamodb update-time-to-live --table-name sessions --time-to-live-specification Enabled=true,AttributeName=expires_at`, `aws dynamodb update-time-to-live --table-name orders-dev --time-to-live-specification Enabled=true,AttributeName=created_at`, `aws dynamodb describe-time-to-live --table-name orders`, `gsutil lifecycle get gs://x`, `mc ilm rule ls s3/orders`, `mc ilm rule add local/orders --expire-days 1`,
		`heroku pg:copy acme-shop::DATABASE_URL DATABASE_URL --app acme-shop-staging --confirm acme-shop-staging`, `heroku pg:backups:capture --app acme-shop`,
	} {
		if a := assessed(line); a.has("destroy.store", 0.4) || a.has("destroy.cloud", 0.4) || a.has("publish.production", 0.4) {
			t.Errorf("asks: %s: %+v", line, a.Findings)
		}
	}
}
