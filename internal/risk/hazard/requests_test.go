package hazard

import "testing"

// askedOf checks which of some commands are asked about.
func askedOf(t *testing.T, commands map[string]bool) {
	t.Helper()
	for c, asks := range commands {
		if got := assessed(c).Score >= asksFrom; got != asks {
			t.Errorf("want asked %v: %s: %+v", asks, c, assessed(c).Findings)
		}
	}
}

// TestRequests: what the program of a cloud is asked about, its library is, in whichever language and spelling; to
// look, what stays inside, and clouds and stores that a test plays are not.
func TestRequests(t *testing.T) {
	askedOf(t, map[string]bool{
		`python3 -c 'import boto3; boto3.client("kms").schedule_key_deletion(KeyId="1", PendingWindowInDays=7)'`: true, `python3 -c 'import boto3; boto3.client("kms").disable_key(KeyId="1")'`: true,
		`python3 -c 'import boto3; boto3.client("cloudtrail").stop_logging(Name="org")'`: true, `python3 -c 'import boto3; boto3.client("iam").attach_user_policy(UserName="a",PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")'`: true,
		`python3 -c 'import boto3; boto3.client("ec2").authorize_security_group_ingress(GroupId="sg-1", FromPort=22, ToPort=22, CidrIp="0.0.0.0/0")'`:                                       true,
		`python3 -c 'import boto3; boto3.client("rds").modify_db_instance(DBInstanceIdentifier="a", PubliclyAccessible=True)'`:                                                              true,
		`node --input-type=module -e "import {KMSClient,ScheduleKeyDeletionCommand} from '@aws-sdk/client-kms'; await new KMSClient({}).send(new ScheduleKeyDeletionCommand({KeyId:'1'}))"`: true,
		`node -e "const AWS=require('aws-sdk'); new AWS.KMS().scheduleKeyDeletion({KeyId:'1'}, console.log)"`:                                                                               true,
		`ruby -e 'require "aws-sdk-kms"; Aws::KMS::Client.new.schedule_key_deletion(key_id: "1")'`:                                                                                          true,

		`python3 -c 'import boto3; print(boto3.client("kms").describe_key(KeyId="1"))'`: false, `python3 -c 'import boto3; boto3.client("s3").delete_object(Bucket="b", Key="tmp/x")'`: false,
		`python3 -c 'import boto3; boto3.client("ec2").authorize_security_group_ingress(GroupId="sg-1", FromPort=22, ToPort=22, CidrIp="10.0.0.0/8")'`: false,
		`python3 -c 'import boto3; boto3.client("rds").modify_db_instance(DBInstanceIdentifier="a", PubliclyAccessible=False)'`:                        false,
		`python3 -c 'from moto import mock_aws; import boto3; mock_aws().start(); boto3.client("kms").schedule_key_deletion(KeyId="1")'`:               false,
		`python3 -c 'import boto3; boto3.client("kms", endpoint_url="http://localhost:4566").schedule_key_deletion(KeyId="1")'`:                        false,

		`python3 -c 'from google.cloud import storage; storage.Client().bucket("acme-data").delete(force=True)'`:               true,
		`python3 -c 'from pymongo import MongoClient; c=MongoClient("mongodb+srv://orders.x.example"); c.orders.items.drop()'`: true, `python3 -c 'from pymongo import MongoClient; c=MongoClient("mongodb+srv://orders.x.example"); [c.orders[n].drop() for n in c.orders.list_collection_names()]'`: true,
		`python3 -c 'from elasticsearch import Elasticsearch as E; E("https://es.prod.acme.example:9200").indices.delete(index="*")'`: true,
		`python3 -c 'from pymongo import MongoClient; MongoClient("mongodb://localhost:27017").shop.items.drop()'`:                    false, `python3 -c 'import mongomock; mongomock.MongoClient("mongodb://db.x.example").shop.items.drop()'`: false,
		`python3 -c 'from elasticsearch import Elasticsearch as E; E("http://localhost:9200").indices.delete(index="test-1")'`: false, `python3 -c 'import pandas as pd; pd.read_csv("a.csv").drop(columns=["x"])'`: false,
	})
}

// TestMoney: money that moves is asked about, by whatever program; on networks where coins are worth nothing, and with
// keys for tests, it does not.
func TestMoney(t *testing.T) {
	askedOf(t, map[string]bool{
		`near send acme.near activate.near 20`: true, `near tokens acme.near send-near activate.near '20 NEAR' network-config mainnet sign-with-keychain send`: true, `aptos account transfer --account 0x9f --amount 100000000 --assume-yes`: true,
		`sui client transfer-sui --to 0x9f --sui-coin-object-id 0x1 --gas-budget 1000000`: true, `octez-client transfer 10 from a to tz1x`: true, `gaiad tx bank send a cosmos1x 10uatom`: true, `dfx ledger transfer --amount 1 --memo 0 abc --network ic`: true,
		`python3 -c 'from web3 import Web3; w=Web3(Web3.HTTPProvider("https://mainnet.infura.io/v3/k")); w.eth.send_raw_transaction(t)'`:  true,
		`python3 -c 'import stripe,os; stripe.api_key=os.environ["SK"]; stripe.Transfer.create(amount=1,currency="usd",destination="a")'`: true,

		`near send a.testnet b.testnet 20`: false, `near state acme.near`: false, `aptos account transfer --account 0x9f --amount 1 --profile devnet`: false, `aptos account list`: false, `sui client gas`: false, `dfx ledger balance`: false, `gaiad tx bank send a b 1uatom --node http://localhost:26657`: false,
		`python3 -c 'from web3 import Web3; w=Web3(Web3.HTTPProvider("http://127.0.0.1:8545")); w.eth.send_raw_transaction(t)'`:          false,
		`python3 -c 'from web3 import Web3; w=Web3(Web3.HTTPProvider("https://sepolia.infura.io/v3/k")); w.eth.send_raw_transaction(t)'`: false,
		`python3 -c 'import stripe; stripe.api_key="sk_test_1"; stripe.Transfer.create(amount=1,currency="usd",destination="a")'`:        false,
		`python3 -c 'import stripe,os; stripe.api_key=os.environ["SK"]; print(stripe.Transfer.list(limit=3))'`:                           false,
	})
}

// TestOpenedToAll: firewalls that let in everybody, protections that are switched off and names that lead elsewhere
// are asked about; to look, a site's own ports and networks of one's own are not.
func TestOpenedToAll(t *testing.T) {
	askedOf(t, map[string]bool{
		`hcloud firewall add-rule b --direction in --protocol tcp --port 22 --source-ips 0.0.0.0/0`: true, `doctl compute firewall add-rules 1a --inbound-rules protocol:tcp,ports:22,address:0.0.0.0/0`: true, `openstack security group rule create --proto tcp --dst-port 22 --remote-ip 0.0.0.0/0 default`: true, `openstack security group rule create --proto tcp --dst-port 22 default`: true,
		`linode-cli firewalls rules-update 12 --inbound '[{"action":"ACCEPT","protocol":"TCP","ports":"22","addresses":{"ipv4":["0.0.0.0/0"]}}]'`: true, `scw instance security-group create-rule security-group-id=1 protocol=TCP direction=inbound action=accept ip-range=0.0.0.0/0 dest-port-from=22`: true,
		`gh api -X PUT repos/acme/app/rulesets/12 -f enforcement=disabled`: true, `gh api --method PUT repos/acme/app/rulesets/12 --input r.json`: true, `gh api -X PATCH repos/acme/app -F security_and_analysis[secret_scanning][status]=disabled`: true, `gh api --method PATCH orgs/acme -F two_factor_requirement_enabled=false`: true, `gh repo edit acme/app --enable-secret-scanning=false`: true,
		`kcadm.sh update realms/acme -s sslRequired=NONE`: true, `tailscale set --ssh`: true, `aws wafv2 disassociate-web-acl --resource-arn a`: true,
		`aws route53 change-resource-record-sets --hosted-zone-id Z1 --change-batch '{"Changes":[{"Action":"UPSERT"}]}'`: true, `flarectl dns create-or-update --zone acme.example --name login --type A --content 203.0.113.66`: true, `gcloud dns record-sets update login.acme.example. --zone acme --type A --rrdatas 203.0.113.66`: true,
		`az network dns record-set a add-record -g dns -z acme.example -n login -a 203.0.113.66`: true, `curl -X PUT https://api.cloudflare.com/client/v4/zones/z/dns_records/r -d '{"type":"A"}'`: true,

		`hcloud firewall add-rule web --direction in --protocol tcp --port 443 --source-ips 0.0.0.0/0`: false, `hcloud firewall add-rule b --direction in --protocol tcp --port 22 --source-ips 10.0.0.0/8`: false, `hcloud firewall add-rule b --direction out --protocol tcp --port 22 --destination-ips 0.0.0.0/0`: false,
		`doctl compute firewall add-rules 1a --inbound-rules protocol:tcp,ports:443,address:0.0.0.0/0`: false, `doctl compute firewall list`: false, `openstack security group rule create --proto tcp --dst-port 22 --remote-ip 10.0.0.0/8 default`: false, `openstack security group rule list`: false,
		`gh api repos/acme/app/rulesets`: false, `gh api repos/acme/app -q .security_and_analysis`: false, `kcadm.sh get realms/acme`: false, `tailscale set --hostname a`: false, `tailscale status`: false,
		`aws route53 list-resource-record-sets --hosted-zone-id Z1`: false, `aws --endpoint-url http://localhost:4566 route53 change-resource-record-sets --hosted-zone-id Z1 --change-batch '{"Changes":[{"Action":"UPSERT"}]}'`: false, `flarectl dns list --zone acme.example`: false, `gcloud dns record-sets list --zone acme`: false, `az network dns record-set a list -g dns -z acme.example`: false, `curl https://api.cloudflare.com/client/v4/zones/z/dns_records/r`: false, `dnscontrol preview`: false,
	})
}

// TestToldToMany: a message to each of many people is asked about; one, or a few that are named, is daily work.
func TestToldToMany(t *testing.T) {
	askedOf(t, map[string]bool{
		`while read p; do twilio api:core:messages:create --from +15550100 --to $p --body x; done < n.txt`: true, `for i in $(seq 1 200); do gh issue comment $i -R acme/app --body x; done`: true, `for i in {1..200}; do gh issue comment $i --body x; done`: true, `for ((i=0;i<200;i++)); do gh pr comment $i --body x; done`: true,
		`cat n.txt | xargs -I{} mail -s hello {} < m.txt`: true, `for u in $(cat users.txt); do aws ses send-email --from a@acme.example --destination ToAddresses=$u --message m; done`: true, `aws sesv2 send-bulk-email --cli-input-json file://b.json`: true, `aws sns publish --topic-arn arn:aws:sns:us-east-1:1:all-customers --message x`: true,
		`python3 -c 'import smtplib; s=smtplib.SMTP("smtp.acme.example"); [s.sendmail("a@acme.example", r, "x") for r in open("n.txt")]; exit()'`:     true,
		"python3 -c 'import smtplib\ns=smtplib.SMTP(\"smtp.acme.example\")\nfor r in open(\"n.txt\"):\n    s.sendmail(\"a@acme.example\", r, \"x\")'": true,

		`twilio api:core:messages:create --from +15550100 --to +15550199 --body x`: false, `for i in 12 14 15; do gh issue comment $i --body 'fixed in 1.2'; done`: false, `gh issue comment 3 --body thanks`: false, `for f in *.json; do jq . $f; done`: false, `for i in $(seq 1 200); do gh issue view $i --json title; done`: false,
		`aws sns publish --topic-arn arn:aws:sns:us-east-1:1:build-events --message ok`: false, `gh issue list | xargs -n1 gh issue view`: false,
		"python3 -c 'import smtplib\ns=smtplib.SMTP(\"localhost\", 1025)\nfor r in open(\"n.txt\"):\n    s.sendmail(\"a@acme.example\", r, \"x\")'": false,
	})
}

// TestRemovesOwnSystem: packages of which a system is made are removed only after a question.
func TestRemovesOwnSystem(t *testing.T) {
	askedOf(t, map[string]bool{
		`apt-get purge -y '^python3.*'`: true, `sudo apt remove 'lib*'`: true, `dnf remove -y 'python3*'`: true, `apt-get purge python3`: true, `pacman -Rns systemd`: true,
		`apt-get purge -y 'nvidia-*' '^libnvidia-.*'`: false, `apt-get remove -y python3-foo 'php7*' libssl-dev`: false, `apt-get -s purge '^python3.*'`: false, `docker run --rm debian apt-get purge -y python3`: false, `apt-get install python3`: false, `apt list 'python3*'`: false, `dnf remove nginx`: false,
	})
}
