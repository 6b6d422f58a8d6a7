"""The properties there are, by their names, with Java's defaults."""

from namekeeper.config.property import PropertyGroup, format_value
from namekeeper.config.settings import ALIASES, SPECS, NamesrvSettings

JAVA_5_5_0 = """
bindAddress=0.0.0.0
clientRequestThreadPoolNums=8
clientRequestThreadPoolQueueCapacity=50000
clusterTest=false
configBlackList=configBlackList;configStorePath;kvConfigPath
configStorePath=~/namesrv/namesrv.properties
defaultThreadPoolNums=16
defaultThreadPoolQueueCapacity=10000
deleteTopicWithBrokerRegistration=false
enableAllTopicList=true
enableControllerInNamesrv=false
enableShutdownGracefully=false
enableTopicList=true
kvConfigPath=~/namesrv/kvConfig.json
listenPort=9876
needWaitForService=false
notifyMinBrokerIdChanged=false
orderMessageEnable=false
productEnvName=center
returnOrderTopicConfigToBroker=true
rocketmqHome=
scanNotActiveBrokerInterval=5000
serverAsyncSemaphoreValue=64
serverCallbackExecutorThreads=0
serverChannelMaxIdleTimeSeconds=120
serverNettyWorkerGroupEnable=true
serverOnewaySemaphoreValue=256
serverPooledByteBufAllocatorEnable=true
serverSelectorThreads=3
serverSocketBacklog=1024
serverSocketRcvBufSize=0
serverSocketSndBufSize=0
serverWorkerThreads=8
shutdownWaitTimeSeconds=30
supportActingMaster=false
unRegisterBrokerQueueCapacity=3000
useEpollNativeSelector=false
waitSecondsForService=45
writeBufferHighWaterMark=0
writeBufferLowWaterMark=0
"""
"""What the name server of 5.5.0 answers to 319, with the home folder as `~`."""


def test_names_and_defaults_are_those_of_java():
    expected = dict(line.split("=", 1) for line in JAVA_5_5_0.split())
    java = [
        spec for spec in SPECS.values() if spec.facts.group in {PropertyGroup.NAMESRV, PropertyGroup.NETTY}
    ]
    assert {spec.name: format_value(spec.default) for spec in java} == expected


def test_every_field_is_a_property_under_one_name():
    assert [spec.field for spec in SPECS.values()] == list(NamesrvSettings.__struct_fields__)
    assert not set(ALIASES) & set(SPECS)
    assert ALIASES["com.rocketmq.remoting.frameMaxLength"] == "remotingFrameMaxLength"


def test_names_of_flags_and_variables_are_derived():
    spec = SPECS["tls.server.certPath"]
    assert (spec.flag, spec.variable) == ("--tls-server-cert-path", "NAMEKEEPER_TLS_SERVER_CERT_PATH")


def test_what_chooses_a_path_or_guards_the_server_is_out_of_reach_of_peers():
    ours = {
        spec.name for spec in SPECS.values() if spec.facts.group in {PropertyGroup.OURS, PropertyGroup.TLS}
    }
    reachable = {spec.name for spec in SPECS.values() if spec.facts.remote and not spec.facts.path}
    assert ours & reachable == {"logLevel"}
    assert not {"kvConfigPath", "configStorePath", "configBlackList", "rocketmqHome"} & reachable
