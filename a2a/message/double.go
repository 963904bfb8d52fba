package message

import (
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
)

// grammar is the members of the protocol's objects, in the spellings of all its
// versions. What the caller may fill as it likes, data and metadata, is not looked
// into.
var grammar = content.NewGrammar(map[string]string{
	"message": "jsonrpc method params:object result:object error:error " + object,
	"error":   "code message data",
	"object":  object,
})

const object = "id message:object task:object statusUpdate:object status_update:object artifactUpdate:object artifact_update:object status:object state timestamp " +
	"artifact:object artifacts:object history:object parts:object kind role type messageId message_id contextId context_id taskId task_id " +
	"referenceTaskIds reference_task_ids extensions metadata final append lastChunk last_chunk artifactId artifact_id name description " +
	"text data file:object bytes uri mimeType mime_type mediaType media_type filename url raw fileWithBytes file_with_bytes fileWithUri file_with_uri " +
	"configuration:object acceptedOutputModes accepted_output_modes blocking returnImmediately return_immediately historyLength history_length " +
	"pushNotificationConfig:object push_notification_config:object taskPushNotificationConfig:object task_push_notification_config:object " +
	"pushNotificationConfigId push_notification_config_id token authentication:object schemes scheme credentials tenant " +
	"pageSize page_size pageToken page_token nextPageToken next_page_token totalSize total_size includeArtifacts include_artifacts tasks:object configs:object"

// Double looks for a member that some readers take for another one of the
// protocol, or for one that stands there, too, where v is a message at the JSON
// Pointer base: what such a message does depends on who reads it. nil when there is
// none. The members named in beside are none of the message's own.
func Double(v rawjson.Value, base string, beside ...string) *content.Double {
	return grammar.Double(v, "message", base, beside...)
}
