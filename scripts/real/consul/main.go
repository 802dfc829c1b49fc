// Consul's own main.go, without the command line's help.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/hashicorp/consul/command"
	"github.com/hashicorp/consul/command/cli"
	_ "github.com/hashicorp/consul/service_os"
	mcli "github.com/mitchellh/cli"
)

func main() {
	log.SetOutput(io.Discard)
	ui := &cli.BasicUI{BasicUi: mcli.BasicUi{Writer: os.Stdout, ErrorWriter: os.Stderr}}
	consul := &mcli.CLI{Args: os.Args[1:], Commands: command.RegisteredCommands(ui), Name: "consul"}
	code, err := consul.Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
