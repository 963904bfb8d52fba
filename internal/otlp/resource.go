package otlp

import (
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
)

// resourceAttributes are what all that a node sends says of the node. What somebody set wins.
func resourceAttributes(service, version, instance string, more map[string]string) []attribute.KeyValue {
	all := map[string]string{"service.name": service, "service.version": version, "service.instance.id": instance}
	maps.Copy(all, more)
	var list []attribute.KeyValue
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != "" {
			list = append(list, attribute.String(key, all[key]))
		}
	}
	return list
}
