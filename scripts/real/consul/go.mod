// A Consul of 1.14, the last of which is under the MPL, for `npm run real consul`. The module of Consul itself cannot
// be installed, because its go.mod replaces three of its modules by folders that are not in it.
module sluice.example/consul

go 1.20

require (
	github.com/hashicorp/consul v1.14.11
	github.com/mitchellh/cli v1.1.0
)

replace launchpad.net/gocheck => github.com/go-check/check v0.0.0-20140225173054-eb6ee6f84d0a
