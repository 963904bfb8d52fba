package hazard

import "testing"

// TestLosesObjects: what a program takes away from a cloud's stores asks when it runs; looking, and stores that a
// test plays, do not.
func TestLosesObjects(t *testing.T) {
	const s3 = "import boto3\ns3 = boto3.resource('s3')\nb = s3.Bucket('acme-backups')\n"
	for text, asks := range map[string]bool{
		s3 + "for v in b.object_versions.all():\n    print(v.size)\nb.object_versions.delete()\n":                                      true,
		s3 + "b.objects.filter(Prefix='2023/').delete()\n":                                                                             true,
		s3 + "for o in b.objects.all():\n    o.delete()\n":                                                                             true,
		s3 + "b.delete_objects(Delete={'Objects': [{'Key': k} for k in keys]})\n":                                                      true,
		s3 + "boto3.client('s3').put_bucket_versioning(Bucket='acme', VersioningConfiguration={'Status': 'Suspended'})\n":              true,
		"from google.cloud import storage\nfor blob in storage.Client().list_blobs('acme'):\n    blob.delete()\n":                      true,
		"from azure.storage.blob import ContainerClient\nc = ContainerClient.from_connection_string(s, 'x')\nc.delete_blobs(*names)\n": true,
		s3 + "print(sum(o.size for o in b.objects.all()))\n":                                                                           false,
		s3 + "for o in b.objects.all():\n    print(o.key)\n":                                                                           false,
		s3 + "b.upload_file('a.csv', 'a.csv')\nb.download_file('b.csv', 'b.csv')\n":                                                    false,
		"from moto import mock_aws\n" + s3 + "@mock_aws\ndef test_x():\n    b.objects.all().filter(Prefix='x').delete()\n":             false,
		"import boto3\nc = boto3.client('s3', endpoint_url='http://localhost:4566')\nc.delete_objects(Bucket='b', Delete=d)\n":         false,
		"for s in sessions:\n    s.delete()\n":                                                                                         false,
	} {
		does, _ := Default().RunsFile("report.py", text, nil)
		if got := graveness(withoutNotes(does)) >= asksFrom; got != asks {
			t.Errorf("want asked %v: %q: %+v", asks, text, does)
		}
	}
	const js = "import { S3Client, DeleteObjectsCommand } from '@aws-sdk/client-s3'\nconst c = new S3Client({})\n"
	for text, asks := range map[string]bool{
		js + "await c.send(new DeleteObjectsCommand({ Bucket: 'acme', Delete: { Objects: keys } }))\n": true,
		js + "console.log(await c.config.region())\n":                                                  false,
	} {
		does, _ := Default().RunsFile("clean.mjs", text, nil)
		if got := graveness(withoutNotes(does)) >= asksFrom; got != asks {
			t.Errorf("want asked %v: %q: %+v", asks, text, does)
		}
	}
}
