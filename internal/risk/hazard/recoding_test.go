package hazard

import (
	"slices"
	"testing"
)

// shows reports whether a command shows what is kept as a secret.
func shows(command string) bool {
	return slices.ContainsFunc(assessed(command).Findings, func(f Finding) bool { return f.Code == "secret.shown" })
}

// TestPlacesInAnotherForm: who reads a place of secrets through a program that moves, parts or replaces
// letters reads it past the mask, whatever the program. What leaves the names, counts or chooses lines
// does not.
func TestPlacesInAnotherForm(t *testing.T) {
	for _, command := range []string{
		`od -c .env`,
		`od .env`,
		`tr a-z b-za < .env`,
		`tr 'A-Za-z' 'N-ZA-Mn-za-m' < .env`,
		`cat .env | tr '=' ' '`,
		`sed 's/./& /g' .env`,
		`sed -E 's/(.)(.)/\2\1/g' .env`,
		`sed 'y/abcdef/bcdefg/' .env`,
		`sed 's/^[^=]*=//' .env`,
		`fold -w1 .env`,
		`fold -1 .env`,
		`grep -o . .env`,
		`grep -oE '.{1,4}' .env`,
		`grep -oP '=\K.*' .env`,
		`grep -o '=.*' .env`,
		`awk '{for(i=1;i<=length($0);i++) printf "%s ", substr($0,i,1)}' .env`,
		`awk -F= '{print $2}' .env`,
		`awk '{gsub(/./,"& ")}1' .env`,
		`perl -pe "s/(.)/$1 /g" .env`,
		`perl -pe 's/(.)/$1 /g' .env`,
		`perl -ne 'print scalar reverse' .env`,
		`perl -pe 'y/a-z/b-za/' .env`,
		`ruby -e 'puts File.read(".env").reverse'`,
		`php -r 'echo strrev(file_get_contents(".env"));'`,
		`python3 -c "print(open('.env').read()[::-1])"`,
		`python3 -c "print(' '.join(open('.env').read()))"`,
		`python3 -c "import codecs;print(codecs.encode(open('.env').read(),'rot13'))"`,
		`python3 -c "print([ord(c) for c in open('.env').read()])"`,
		`node -p "Buffer.from(fs.readFileSync('.env')).toString('hex')"`,
		`node -p "fs.readFileSync('.env','utf8').split('').join(' ')"`,
		`node -e "console.log(require('fs').readFileSync('.env').toString('base64'))"`,
		`jq -Rs '@base64' .env`,
		`openssl base64 -in .env`,
		`openssl enc -base64 < .env`,
		`cut -d= -f2 .env`,
		`cut -d = -f 2- .env`,
		`cut -c5- .env`,
		`iconv -t UTF-16 .env`,
		`dd if=.env conv=swab`,
		`dd if=.env conv=swab 2>/dev/null | cat`,
		`rot13 < .env`,
		`qrencode -t ansi < .env`,
		`x=$(cat .env); echo "${x//a/b}"`,
		`x=$(<.env); for ((i=0;i<99;i++)); do echo ${x:i:1}; done`,
		`while read -n1 c; do echo $c; done < .env`,
		`grep SECRET .env | rev`,
		`grep SECRET .env | base64`,
		`base64 .env`,
		`xxd -p .env`,
		`rev .env`,
		`hexdump -C .env`,
		`cp .env a.txt; od -c a.txt`,
		`bash -c 'rev .env'`,
		`docker exec shop rev .env`,
	} {
		if !shows(command) {
			t.Errorf("%s: not shown", command)
		}
	}
	for _, command := range []string{
		`grep -c . .env`,
		`wc -l .env`,
		`cut -d= -f1 .env`,
		`cut -f1 -d= .env`,
		`sed 's/=.*//' .env`,
		`sed 's/=.*/=***/' .env`,
		`sed -E 's/(.{6}).*/\1***/' .env`,
		`sed 's/^export //' .env`,
		`sed -n '1,5p' .env`,
		`sed '/^#/d' .env`,
		`sed 's/\r$//' .env`,
		`sed -n '/^DB_/p' .env`,
		`cat .env`,
		`cat -A .env`,
		`grep -n DB_HOST .env`,
		`grep DATABASE_URL .env | cut -d= -f2`,
		`grep -o '^[A-Z_]*' .env`,
		`grep -oE '^[^=]+' .env`,
		`grep -oE '^[A-Z_]+=' .env`,
		`grep -v '^#' .env`,
		`awk -F= '{print $1}' .env`,
		`awk -F= '/^DB/{print $2}' .env`,
		`awk 'NF' .env`,
		`awk -F= '{print $1"=***"}' .env`,
		`sort .env`,
		`sort -u .env .env.example`,
		`diff .env .env.example`,
		`comm -12 <(cut -d= -f1 .env | sort) <(cut -d= -f1 .env.example | sort)`,
		`tr '\n' ' ' < .env`,
		`tr -d '\r' < .env`,
		`tr -d '"' < .env`,
		`tr a-z A-Z < .env`,
		`head -5 .env`,
		`tail -n +2 .env`,
		`cut -c1-20 .env`,
		`fold -w 80 .env`,
		`python3 -c "from dotenv import dotenv_values; print(list(dotenv_values('.env')))"`,
		`python3 -c "print([l.split('=')[0] for l in open('.env')])"`,
		`node -e "require('dotenv').config(); console.log(Object.keys(process.env))"`,
		`md5sum .env`,
		`sha256sum .env`,
		`openssl dgst -sha256 .env`,
		`export $(grep -v '^#' .env | xargs)`,
		`export $(cut -d= -f2 .env | xargs)`,
		`set -a; . ./.env; set +a; npm test`,
		`psql "$(grep DATABASE_URL .env | cut -d= -f2-)" -c 'select 1'`,
		`docker run --env-file .env shop`,
		`jq -r '.dependencies | keys' package.json`,
		`cat package.json | base64`,
		`sed 's/./& /g' README.md`,
		`rev README.md`,
		`gh secret set -f .env`,
		`echo -n "$USER:$TOKEN" | base64`,
		`cat cert.pem | base64 -w0`,
		`gpg -c .env`,
		`sops -e .env > .env.enc`,
		`base64 -w0 .env > /tmp/x`,
		`kubectl create secret generic x --from-literal=a=$(base64 < .env)`,
		`base64 .env | gh secret set ENV_B64`,
		`perl -ne 'print if /^DB/' .env`,
		`ruby -e 'puts File.readlines(".env").size'`,
		`terraform apply -var x=$(vault kv get -field=p x)`,
		`docker login -u x -p $(gh auth token) ghcr.io`,
		`bundle exec rails test`,
		`bundle exec rails db:migrate`,
	} {
		if shows(command) {
			t.Errorf("%s: shown", command)
		}
	}
}
