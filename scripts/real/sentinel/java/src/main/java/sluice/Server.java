package sluice;

import com.alibaba.csp.sentinel.cluster.flow.rule.ClusterFlowRuleManager;
import com.alibaba.csp.sentinel.cluster.flow.rule.ClusterParamFlowRuleManager;
import com.alibaba.csp.sentinel.cluster.server.SentinelDefaultTokenServer;
import com.alibaba.csp.sentinel.cluster.server.config.ClusterServerConfigManager;
import com.alibaba.csp.sentinel.cluster.server.config.ServerTransportConfig;
import com.alibaba.csp.sentinel.property.DynamicSentinelProperty;
import com.alibaba.csp.sentinel.slots.block.flow.ClusterFlowConfig;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowClusterConfig;
import com.alibaba.csp.sentinel.slots.block.flow.param.ParamFlowRule;
import java.util.List;
import java.util.Set;

/** Sentinel's own token server, with the rules of `limits.yaml` beside this project. Argument: a port. */
public final class Server {
  public static void main(String[] args) throws Exception {
    ClusterFlowRuleManager.setPropertySupplier(namespace -> new DynamicSentinelProperty<>());
    ClusterParamFlowRuleManager.setPropertySupplier(namespace -> new DynamicSentinelProperty<>());
    ClusterServerConfigManager.loadServerNamespaceSet(Set.of("checkout"));
    ClusterServerConfigManager.loadGlobalTransportConfig(
        new ServerTransportConfig().setIdleSeconds(600).setPort(Integer.parseInt(args[0])));
    ClusterFlowRuleManager.loadRules("checkout", List.of(flow(101, 1, 6_000), flow(102, 0, 10)));
    ParamFlowRule param = new ParamFlowRule("search").setParamIdx(0).setCount(5).setClusterMode(true);
    param.setClusterConfig(new ParamFlowClusterConfig());
    param.getClusterConfig().setFlowId(201L);
    param.getClusterConfig().setThresholdType(1);
    ClusterParamFlowRuleManager.loadRules("checkout", List.of(param));
    new SentinelDefaultTokenServer().start();
    System.out.println("> ready");
    while (System.in.read() != -1) {
      // until the input ends
    }
    System.exit(0);
  }

  private static FlowRule flow(long id, int thresholdType, double count) {
    FlowRule rule = new FlowRule("orders-" + id).setCount(count).setClusterMode(true);
    rule.setClusterConfig(new ClusterFlowConfig().setFlowId(id).setThresholdType(thresholdType));
    return rule;
  }

  private Server() {}
}
