package sluice;

import com.alibaba.csp.sentinel.Entry;
import com.alibaba.csp.sentinel.SphU;
import com.alibaba.csp.sentinel.cluster.ClusterStateManager;
import com.alibaba.csp.sentinel.cluster.TokenResult;
import com.alibaba.csp.sentinel.cluster.client.TokenClientProvider;
import com.alibaba.csp.sentinel.cluster.client.config.ClusterClientAssignConfig;
import com.alibaba.csp.sentinel.cluster.client.config.ClusterClientConfig;
import com.alibaba.csp.sentinel.cluster.client.config.ClusterClientConfigManager;
import com.alibaba.csp.sentinel.slots.block.BlockException;
import com.alibaba.csp.sentinel.slots.block.flow.ClusterFlowConfig;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRuleManager;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** Sentinel's own client: reads a command a line, and answers each with a line after "> ". */
public final class Client {
  /** Arguments: host, port; the timeout of a request; then of the rule for `load`: flowId, and the local count. */
  public static void main(String[] args) throws Exception {
    ClusterStateManager.applyState(ClusterStateManager.CLUSTER_CLIENT);
    FlowRule rule = new FlowRule("orders").setCount(Double.parseDouble(args[4])).setClusterMode(true);
    rule.setClusterConfig(new ClusterFlowConfig().setFlowId(Long.parseLong(args[3])).setThresholdType(1));
    FlowRuleManager.loadRules(List.of(rule));
    ClusterClientConfigManager.applyNewConfig(new ClusterClientConfig().setRequestTimeout(Integer.parseInt(args[2])));
    ClusterClientConfigManager.applyNewAssignConfig(new ClusterClientAssignConfig(args[0], Integer.parseInt(args[1])));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) System.out.println("> " + run(line.split(" ")));
    System.exit(0);
  }

  private static String run(String[] words) throws Exception {
    switch (words[0]) {
      case "state":
        return String.valueOf(TokenClientProvider.getClient().getState());
      case "flow":
        return written(TokenClientProvider.getClient()
            .requestToken(Long.parseLong(words[1]), Integer.parseInt(words[2]), words.length > 3));
      case "param":
        List<Object> values = new ArrayList<>();
        for (int i = 3; i < words.length; i++) values.add(valueOf(words[i]));
        return written(TokenClientProvider.getClient()
            .requestParamToken(Long.parseLong(words[1]), Integer.parseInt(words[2]), values));
      case "load":
        return load(Long.parseLong(words[1]), Long.parseLong(words[2]));
      default:
        throw new IllegalArgumentException(words[0]);
    }
  }

  /** Enters `orders` every few milliseconds for a while. Returns when it passed, in milliseconds since 1970. */
  private static String load(long forMs, long everyMs) throws InterruptedException {
    StringBuilder passed = new StringBuilder();
    for (long endMs = System.currentTimeMillis() + forMs; System.currentTimeMillis() < endMs; Thread.sleep(everyMs)) {
      try (Entry entry = SphU.entry("orders")) {
        passed.append(passed.length() == 0 ? "" : " ").append(System.currentTimeMillis());
      } catch (BlockException blocked) {
        // not passed
      }
    }
    return passed.toString();
  }

  private static String written(TokenResult result) {
    return result.getStatus() + " " + result.getRemaining() + " " + result.getWaitInMs();
  }

  private static Object valueOf(String text) {
    String value = text.substring(text.indexOf(':') + 1);
    switch (text.substring(0, text.indexOf(':'))) {
      case "int": return Integer.valueOf(value);
      case "long": return Long.valueOf(value);
      case "byte": return Byte.valueOf(value);
      case "double": return Double.valueOf(value);
      case "float": return Float.valueOf(value);
      case "short": return Short.valueOf(value);
      case "boolean": return Boolean.valueOf(value);
      default: return value;
    }
  }

  private Client() {}
}
