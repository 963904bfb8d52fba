# The official client for Python: lists tools, and calls each that is named.
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main(calls, command):
    async with stdio_client(StdioServerParameters(command=command[0], args=command[1:])) as (r, w):
        async with ClientSession(r, w) as s:
            await s.initialize()
            for t in (await s.list_tools()).tools:
                print("tool", t.name)
            for name, arguments in calls:
                result = await s.call_tool(name, arguments)
                said = "".join(c.text for c in result.content if c.type == "text")
                failed = result.is_error if hasattr(result, "is_error") else result.isError
                print("failed" if failed else "ok", name, json.dumps(said))

asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))
